"""What veil would gain: public numbers of a graph, simulated answers, and the curves that foretell gains."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphveil as gv
from graphveil.graphs.splits import GivenSplit
from graphveil.methods.structure import Posterior
from graphveil.methods.veil_advice import (
    KINDS,
    STRENGTH,
    PublicNumbers,
    VolunteerRows,
    agreeing_share,
    find_gain_model,
    gain_models,
    simulated_gain,
    volunteer_rows,
    within_reach,
)
from graphveil.methods.veil_model import PublicModel


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_that_were_measured_and_towns_have_curves_of_their_own(kind):
    cora, unknown = (find_gain_model(kind, data) for data in ("cora", "mine"))
    assert (cora.kind, cora.without, unknown.without) == (kind, "cora", None)
    assert cora.graphs < unknown.graphs
    assert cora.weights != unknown.weights
    town = find_gain_model(kind, "town")
    assert town.town and town.without is None
    assert town.weights != find_gain_model(kind, "mine").weights


def test_no_curve_stands_there_twice():
    keys = [(model.kind, model.town, model.without) for model in gain_models()]
    assert len(keys) == len(set(keys))


def ring(labels):
    count = len(labels)
    edges = [(user, (user + 1) % count) for user in range(count)]
    masks = np.zeros((3, count), dtype=bool)
    masks[0, : count - 2], masks[1, count - 2], masks[2, count - 1] = True, True, True
    return gv.from_arrays(edges, np.eye(count), labels, range=(0, 1), split=GivenSplit(*masks))[0]


def posterior(rows):
    rows = np.asarray(rows, dtype=np.float64)
    return Posterior(rows, rows.astype(np.float32), np.ones(len(rows)), "", 0.5, 0.75)


def test_edges_between_labelled_users_are_counted_against_chance():
    graph = ring([0, 0, 1, 1, 0, 1])
    # Users 0 to 4 are labelled, and 0-1 and 2-3 agree among four edges; each stands there in both directions.
    chance = (3 / 5) ** 2 + (2 / 5) ** 2
    assert agreeing_share(graph) == pytest.approx((4 + STRENGTH * chance) / (8 + STRENGTH))


def test_numbers_are_those_of_users_whose_label_is_not_trained_on():
    rows = np.array([[1, 0]] * 4 + [[0.5, 0.5], [0.9, 0.1]])
    numbers = PublicNumbers.of(ring([0, 0, 1, 1, 0, 1]), posterior(rows))
    counts = {"users": 6, "dims": 6, "classes": 2, "trained": 4, "validated": 1, "degree": 2.0, "left": 0.25}
    assert {name: getattr(numbers, name) for name in counts} == counts
    assert numbers.sure == pytest.approx(0.7)
    entropy = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert numbers.doubt == pytest.approx((math.log(2) + entropy) / 2)


def best_guess(row, epsilon):
    """The accuracy of the best guess after an answer among two classes, by enumeration, less that of the best before."""
    hit = math.exp(epsilon) / (math.exp(epsilon) + 1)
    after = sum(max(row[kind] * (hit if kind == answer else 1 - hit) for kind in (0, 1)) for answer in (0, 1))
    return after - max(row)


@given(st.floats(0.01, 0.99), st.floats(0.05, 8))
def test_reach_of_two_classes_is_that_of_the_best_guess(share, epsilon):
    rows = np.array([[share, 1 - share]])
    assert within_reach(rows, epsilon) == pytest.approx(best_guess(rows[0], epsilon), abs=1e-12)


def test_reach_grows_with_the_budget_within_a_list_and_never_passes_what_is_missing():
    rows = np.random.default_rng(0).dirichlet(np.ones(6), 50)
    missing = float((1 - rows.max(axis=1)).mean())
    for budgets in ((0.2, 0.7, 1.4), (1.5, 2, 2.9), (3, 5, 12)):
        reached = [within_reach(rows, epsilon) for epsilon in budgets]
        assert all(low < high for low, high in itertools.pairwise(reached))
        assert reached[0] >= 0 and reached[-1] < missing
    assert within_reach(np.array([[1.0, 0.0, 0.0]]), 4.0) == 0


def rows_of(kinds, count=200):
    return np.random.default_rng(kinds).dirichlet(np.ones(kinds), count)


def certain(kinds, strength=20.0):
    """Volunteers whose rows leave no doubt, one a class."""
    return VolunteerRows(strength * np.eye(kinds), np.arange(kinds), math.log(kinds))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_rows_that_tell_all_add_what_is_within_reach(epsilon):
    """20,000 users: the difference of two shares has a standard error below 0.004, and five of them a chance below 1e-6. The seed is fixed."""
    rows = rows_of(2)
    assert simulated_gain(rows, certain(2), epsilon) == pytest.approx(within_reach(rows, epsilon), abs=0.025)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 8.0])
def test_rows_that_tell_nothing_add_nothing(epsilon):
    nothing = VolunteerRows(np.zeros((4, 4)), np.arange(4), 0.0)
    assert simulated_gain(rows_of(4), nothing, epsilon) == pytest.approx(0, abs=0.01)


def test_a_class_without_volunteers_adds_less_and_the_same_seed_gives_the_same_number():
    rows, told = rows_of(3), certain(3)
    some = replace(told, scores=told.scores[:2], classes=told.classes[:2])
    assert simulated_gain(rows, some, 6.0) < simulated_gain(rows, told, 6.0) - 0.02
    assert simulated_gain(rows, told, 2.0, seed=4) == simulated_gain(rows, told, 2.0, seed=4)


def test_volunteers_have_their_label_or_their_likeliest_class():
    masks = np.eye(3, dtype=bool)[:, [0, 0, 1, 2, 2]]
    panel = np.array([True, False, False, True, True])
    more = {"range": (0, 1), "split": GivenSplit(*masks), "panel": panel}
    graph, _ = gv.from_arrays([[0, 1], [2, 3], [3, 4]], np.eye(5), [1, 0, 0, 1, 0], **more)
    rows = [[1, 0], [0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.1, 0.9]]
    told = volunteer_rows(graph, posterior(rows), PublicModel(None, 1.0, gain=-0.5, own=None))
    # User 0 trains and has the label 1; users 3 and 4 are test users, whose labels nobody knows.
    assert told.classes.tolist() == [1, 0, 1]
    assert told.scores.tolist() == [[0, 0]] * 3 and told.nats == 0
