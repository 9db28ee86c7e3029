import numpy as np
import pytest

from graphveil.methods import METHODS
from graphveil.methods.check import Trial, learn, small_data
from tests.methods.suite import chosen_trials, run_trial


def test_without_hops_it_is_base_and_hops_matter():
    base, bare, hopping = (
        learn(METHODS.find(name), *small_data(), Trial(settings)).scores
        for name, settings in (("base", {}), ("lpgnn", {"hops": 0}), ("lpgnn", {}))
    )
    np.testing.assert_array_equal(bare, base)
    assert not np.allclose(hopping, bare)


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("lpgnn"))
def test_every_way_to_learn_private_labels_passes_the_suite(name, settings, trial):
    run_trial(name, settings, trial)
