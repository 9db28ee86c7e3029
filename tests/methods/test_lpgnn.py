import numpy as np
import pytest

from graphveil.methods import METHODS
from graphveil.methods.check import Trial, learn, small_data
from tests.methods.suite import chosen_trials, run_trial

LPGNN = METHODS.find("lpgnn")


def test_without_hops_it_is_base():
    graph, users = small_data()
    one, other = (
        learn(method, graph, users, Trial(settings))
        for method, settings in ((LPGNN, {"hops": 0}), (METHODS.find("base"), {}))
    )
    np.testing.assert_array_equal(one.scores, other.scores)


def test_hops_matter():
    graph, users = small_data()
    assert not np.allclose(
        learn(LPGNN, graph, users, Trial({})).scores, learn(LPGNN, graph, users, Trial({"hops": 0})).scores
    )


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("lpgnn"))
def test_every_way_to_learn_private_labels_passes_the_suite(name, settings, trial):
    run_trial(name, settings, trial)
