"""Membership inference: against learners that remember, forget, or hear labels through noise."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

import graphveil as gv
from graphveil.attacks import Learned, MembershipAttack, guess_bound
from graphveil.attacks.model import best_threshold, class_scores
from graphveil.channels import SeededBits
from graphveil.errors import InputError
from graphveil.methods.tasks import Outcome
from tests.attacks.small import EPSILONS, FALSE_ALARM, people


@dataclass(frozen=True)
class Rememberer:
    """Scores are the labels that it learned from; at an ε it hears them by k-ary response."""

    label_epsilon: float | None = None
    heard_at: float | None = None
    has_control: bool = False

    def split(self, seed):
        return gv.graphs.resplit(*people(2000), seed)

    def learn(self, graph, users, seed, *, label_seed, blind):
        labels = users.raw.labels
        if self.heard_at is not None:
            mechanism = gv.mechanism("krr", epsilon=self.heard_at, classes=graph.class_count)
            labels = mechanism.randomize(labels, SeededBits(label_seed, 7)).codes
        rows = 5.0 * np.eye(graph.class_count)[labels] * graph.train[:, None]
        assert (graph.labels[~(graph.train | graph.validation)] == -1).all()
        return Outcome(rows, 0.0, 0.0, {}, embedding=rows)


class Forgetter(Rememberer):
    """Scores say nothing of labels."""

    def learn(self, graph, users, seed, *, label_seed, blind):
        rows = np.random.default_rng(seed).random((len(users), graph.class_count))
        return Outcome(rows, 0.0, 0.0, {}, embedding=rows)


def right(learner, seen="scores", runs=3, attack=MembershipAttack, part="planted"):
    tallies = [getattr(attack().play(Learned(learner, seen), seed), part) for seed in range(runs)]
    return sum(each.right for each in tallies), sum(each.guesses for each in tallies)


@pytest.mark.parametrize("seen", ["scores", "embedding"])
def test_a_model_that_remembers_labels_gives_them_away(seen):
    hits, guesses = right(Rememberer(), seen, runs=1)
    # Own labels are seen as such; of drawn ones a quarter are the own one too.
    assert hits / guesses > 0.8


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_model_of_private_labels_is_not_above_their_bound(epsilon):
    hits, guesses = right(Rememberer(epsilon, heard_at=epsilon))
    assert binom.sf(hits - 1, guesses, guess_bound(epsilon)) > FALSE_ALARM


@pytest.mark.statistical  # 85% of some hundred guesses are right where 52% are allowed: never missed
def test_labels_that_cost_more_than_they_say_are_caught():
    hits, guesses = right(Rememberer(0.1, heard_at=8.0))
    assert binom.sf(hits - 1, guesses, guess_bound(0.1)) < FALSE_ALARM


@pytest.mark.statistical  # 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("learner", [Rememberer(), Forgetter()])
def test_a_model_of_other_coins_is_at_chance(learner):
    hits, guesses = right(learner, part="control")
    assert abs(hits / guesses - 0.5) < 6 * np.sqrt(0.25 / guesses)


def test_what_is_remembered_tells_training_users_and_only_private_labels_have_a_bound():
    public, private = (MembershipAttack().play(Learned(Rememberer(each)), 0) for each in (None, 1.0))
    assert public.natural["training or test user"].accuracy == 1.0
    assert public.natural["training or test user"].control is None
    assert (public.stakes.bound, private.stakes.bound) == (1.0, guess_bound(1.0))


def test_the_threshold_is_the_best_one_and_lies_not_between_equal_scores():
    dice = np.random.default_rng(0)
    scores, bits = dice.random(30), dice.random(30) < 0.5
    best = max(((scores > cut) == bits).sum() for cut in [*(scores - 1e-9), 2.0])
    assert ((scores > best_threshold(scores, bits)) == bits).sum() == best
    scores, bits = np.array([1.0, 1.0, 1.0, 0.0]), np.array([True, False, True, False])
    assert 0 < best_threshold(scores, bits) < 1


def test_what_a_method_does_not_have_and_a_handful_of_training_users_are_refused():
    with pytest.raises(InputError, match="has no embedding of users to attack"):
        class_scores(Outcome(np.eye(2), 0.0, 0.0, {}), "embedding", np.array([0, 1]), np.array([0]))

    class Small(Rememberer):
        def split(self, seed):
            return people(40, 6)

    with pytest.raises(InputError, match="needs at least 32 training users"):
        MembershipAttack().play(Learned(Small()), 0)


def test_the_attacker_s_own_model_has_neither_the_attacked_users_nor_their_noise():
    taught = []

    class Noting(Rememberer):
        def learn(self, graph, users, seed, *, label_seed, blind):
            taught.append((seed, label_seed, int(graph.train.sum())))
            return super().learn(graph, users, seed, label_seed=label_seed, blind=blind)

    MembershipAttack().play(Learned(Noting(1.0, heard_at=1.0)), 5)
    (model, reference), control = sorted(set(taught), key=lambda each: -each[2]), taught[-1]
    assert model == control
    assert model[2] == 2 * reference[2] == 1000
    assert len({5, model[1], reference[1]}) == 3
