"""Label inference against models: learners that remember, forget, or hear labels through noise."""

import numpy as np
import pytest
from scipy.stats import binom

from graphveil.attacks import Learned, LearnedLabelAttack, guess_bound
from tests.attacks.small import EPSILONS, FALSE_ALARM
from tests.attacks.test_membership import Forgetter, Rememberer


def tallied(learner, part="planted", seen="scores", runs=3):
    tallies = [getattr(LearnedLabelAttack().play(Learned(learner, seen), seed), part) for seed in range(runs)]
    return sum(each.right for each in tallies), sum(each.guesses for each in tallies)


@pytest.mark.parametrize("seen", ["scores", "embedding"])
def test_a_model_that_remembers_labels_gives_them_away(seen):
    right, guesses = tallied(Rememberer(), seen=seen, runs=1)
    assert right == guesses == 500


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_model_of_private_labels_is_not_above_their_bound(epsilon):
    right, guesses = tallied(Rememberer(epsilon, heard_at=epsilon))
    assert binom.sf(right - 1, guesses, guess_bound(epsilon, 4)) > FALSE_ALARM


@pytest.mark.statistical  # 1,500 guesses: 6 standard deviations on either side, false alarm 2e-9
def test_a_model_that_tells_all_that_it_heard_reaches_the_bound():
    right, guesses = tallied(Rememberer(1.0, heard_at=1.0))
    assert abs(right / guesses - guess_bound(1.0, 4)) < 6 * np.sqrt(0.25 / guesses)


@pytest.mark.statistical  # 87% of 1,500 guesses are right where 36% are allowed: never missed
def test_labels_that_cost_more_than_they_say_are_caught():
    right, guesses = tallied(Rememberer(0.5, heard_at=3.0))
    assert binom.sf(right - 1, guesses, guess_bound(0.5, 4)) < FALSE_ALARM


@pytest.mark.statistical  # 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("learner", [Rememberer(), Forgetter()])
def test_a_model_of_other_classes_is_at_chance(learner):
    right, guesses = tallied(learner, "control")
    assert abs(right / guesses - 0.25) < 6 * np.sqrt(0.25 * 0.75 / guesses)


def test_test_users_classes_stand_beside():
    played = LearnedLabelAttack().play(Learned(Forgetter()), 0)
    assert list(played.natural) == ["test user"]
    assert played.natural["test user"].control is None
