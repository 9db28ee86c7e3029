import math
from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit.lower_bound import along, best_bound, bound_step, most_separated, sums
from graphveil.channels import Claim, SeededWords, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism, names


def _title(place):
    return f"event {place}"


def test_bound_is_below_the_ratio_and_close_to_it():
    counts = np.array([[7_310_000, 50], [2_690_000, 40]])
    bound = best_bound(counts, _title, (1, 0), 10_000_000, 0.0)
    assert bound.epsilon <= math.log(731 / 269)
    assert bound.epsilon == pytest.approx(math.log(731 / 269), abs=0.01)
    assert bound.event == "event 0"
    assert bound.inputs == (1, 0)


def test_bound_sees_an_event_that_fails_to_come():
    bound = best_bound(np.array([[9_000], [10_000]]), _title, ("a", "b"), 10_000, 0.0)
    assert bound.event == "anything but event 0"
    assert bound.epsilon > 4


def test_delta_is_taken_off():
    counts = np.array([[1_000], [0]])
    free = best_bound(counts, _title, (0, 1), 100_000, 0.0)
    granted = best_bound(counts, _title, (0, 1), 100_000, 0.02)
    assert granted.epsilon == 0.0 < free.epsilon


def test_bound_with_nothing_to_see_is_zero():
    assert best_bound(np.array([[500], [500]]), _title, (0, 1), 1_000, 0.0).epsilon == 0.0


def test_most_separated_inputs_differ_most_often():
    rows = [np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.0, 1.0])]
    assert most_separated(rows, [(0, 1), (0, 2), (1, 2)]) == (1, 2)
    assert most_separated(rows, [(0, 1), (0, 2)]) == (0, 2)


@pytest.mark.statistical  # a false alarm in a million each; the seed is fixed
@pytest.mark.parametrize("name", names("features"))
def test_no_mechanism_tells_more_than_it_claims(name):
    settings = {"length": 3} if name == "item" else {}
    built = mechanism(name, epsilon=2.0, dims=6, range=(0, 1), **settings)
    assert bound_step(lambda: built, 20_000, SeededWords(4)).leaks == ()


def test_a_mechanism_that_tells_more_is_found():
    class Lying(FeatureMechanism):
        def randomize(self, private, words=None):
            loud = replace(self, channels=(onebit(3.0),))
            return replace(FeatureMechanism.randomize(loud, private, words), mechanism=self)

    def build():
        return Lying("lying", Claim(1.0), PublicRange(0, 1), 6, 1, (onebit(1.0),), 6.0)

    (leak,) = bound_step(build, 50_000, SeededWords(4)).leaks
    assert "reports tell more than claimed" in leak
    assert "claimed 1" in leak


def test_what_the_tables_admit_is_not_told_again():
    def build():
        return FeatureMechanism("open", Claim(1.0), PublicRange(0, 1), 6, 1, (onebit(3.0),), 6.0)

    assert bound_step(build, 50_000, SeededWords(4)).leaks == ()


@pytest.mark.parametrize("name", ["multibit", "onebit", "item"])
def test_sums_and_projections_are_those_of_the_dense_matrix(name):
    settings = {"length": 3} if name == "item" else {}
    built = mechanism(name, epsilon=2.0, dims=6, range=(0, 1), **settings)
    estimate = built.randomize(np.eye(6), SeededWords(1)).estimate()
    dense, direction = estimate.dense() - estimate.offset, np.arange(6.0)
    assert np.allclose(sums(estimate), dense.sum(axis=0))
    assert np.allclose(along(estimate, direction), dense @ direction)


@pytest.mark.statistical  # a false alarm in a million; the seed is fixed
def test_codes_that_are_too_many_to_count_leave_the_direction():
    built = mechanism("privunit", epsilon=2.0, dims=300, range=(0, 1))
    step = bound_step(lambda: built, 20_000, SeededWords(4))
    assert step.leaks == ()
    assert "epsilon is at least 1." in step.seen
