"""Label inference: k-ary response is at its bound, and neighbours tell what no ε bounds."""

import numpy as np
import pytest
from scipy.stats import binom

import graphveil as gv
from graphveil.attacks import Learned, LearnedLabelAttack, guess_bound
from graphveil.attacks.symbols import neighbour_scores
from graphveil.errors import InputError
from tests.attacks.small import EPSILONS, FALSE_ALARM, played
from tests.attacks.test_membership import Forgetter, Rememberer, right


def test_neighbours_of_one_class_are_evidence_for_it():
    # Two groups of linked users, reported without noise.
    graph, _ = gv.from_arrays([[0, 1], [1, 2], [3, 4], [4, 5]], None, [0, 0, 0, 1, 1, 1])
    scores = neighbour_scores(np.eye(2) * 0.98 + 0.01, graph, np.array([0, 0, 0, 1, 1, 1]))
    assert (scores[:3, 0] > scores[:3, 1]).all() and (scores[3:, 1] > scores[3:, 0]).all()


def test_neighbours_tell_more_than_the_own_report_allows():
    dice = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    pairs = np.concatenate([dice.integers(0, 200, (2000, 2)), dice.integers(200, 400, (2000, 2))])
    data = gv.from_arrays(pairs[pairs[:, 0] != pairs[:, 1]], None, labels)
    stakes, plays = played("label", "krr", 1.0, runs=1, data=data)
    found = plays[0].natural["own report and neighbours, Bayes"]
    assert found.accuracy > stakes.bound + 0.2
    # So they do where one's own report is blind.
    assert found.control > stakes.bound


def test_several_labels_a_user_are_refused():
    graph, users = gv.from_arrays([[0, 1], [1, 2]], None, np.eye(4, dtype=int))
    with pytest.raises(InputError, match="do not have one class each"):
        played("label", "krr", 1.0, data=(graph, users))


def tallied(learner, **options):
    return right(learner, attack=LearnedLabelAttack, **options)


@pytest.mark.parametrize("seen", ["scores", "embedding"])
def test_a_model_that_remembers_labels_gives_them_away(seen):
    hits, guesses = tallied(Rememberer(), seen=seen, runs=1)
    assert hits == guesses == 500


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_model_of_private_labels_is_not_above_their_bound(epsilon):
    hits, guesses = tallied(Rememberer(epsilon, heard_at=epsilon))
    assert binom.sf(hits - 1, guesses, guess_bound(epsilon, 4)) > FALSE_ALARM


@pytest.mark.statistical  # 1,500 guesses: 6 standard deviations on either side, false alarm 2e-9
def test_a_model_that_tells_all_that_it_heard_reaches_the_bound():
    hits, guesses = tallied(Rememberer(1.0, heard_at=1.0))
    assert abs(hits / guesses - guess_bound(1.0, 4)) < 6 * np.sqrt(0.25 / guesses)


@pytest.mark.statistical  # 87% of 1,500 guesses are right where 36% are allowed: never missed
def test_labels_that_cost_more_than_they_say_are_caught():
    hits, guesses = tallied(Rememberer(0.5, heard_at=3.0))
    assert binom.sf(hits - 1, guesses, guess_bound(0.5, 4)) < FALSE_ALARM


@pytest.mark.statistical  # 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("learner", [Rememberer(), Forgetter()])
def test_a_model_of_other_classes_is_at_chance(learner):
    hits, guesses = tallied(learner, part="control")
    assert abs(hits / guesses - 0.25) < 6 * np.sqrt(0.25 * 0.75 / guesses)


def test_test_users_classes_stand_beside():
    played = LearnedLabelAttack().play(Learned(Forgetter()), 0)
    assert list(played.natural) == ["test user"]
    assert played.natural["test user"].control is None
