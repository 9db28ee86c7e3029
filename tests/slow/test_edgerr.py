"""What the graphs of four users reveal that edgerr publishes, at every budget and share."""

from itertools import product

import pytest

from graphveil.audit.enumeration import worst_link
from graphveil.mechanisms import mechanism
from tests.mechanisms.test_edgerr import NEVER_TOGETHER, flat

LINKS = list(product([[], [(0, 1)], [(0, 1), (2, 3)]], [0.1, 1.0, 8.0], [0.0, 0.3, 0.5, 0.9]))


@pytest.mark.parametrize(("public", "epsilon", "share"), LINKS)
def test_a_dendrogram_and_its_counts_reveal_a_link_by_no_more_than_the_budget(public, epsilon, share):
    found = mechanism(
        "edgerr", epsilon=epsilon, dims=4, tree_share=share, public=flat(public), **NEVER_TOGETHER
    )
    assert not worst_link(found)[0].exceeds(epsilon)
