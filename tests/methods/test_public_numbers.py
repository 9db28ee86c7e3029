"""Public numbers of a graph: formulas on small graphs, and nothing that is private."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphveil as gv
from graphveil.graphs.splits import GivenSplit
from graphveil.methods.structure import Posterior
from graphveil.methods.veil_advice import (
    STRENGTH,
    PublicNumbers,
    agreeing_share,
    within_reach,
)


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
    graph = ring([0, 0, 1, 1, 0, 1])
    rows = np.array([[1, 0]] * 4 + [[0.5, 0.5], [0.9, 0.1]])
    numbers = PublicNumbers.of(graph, posterior(rows))
    assert (numbers.users, numbers.dims, numbers.classes, numbers.trained, numbers.validated) == (
        6,
        6,
        2,
        4,
        1,
    )
    assert (numbers.degree, numbers.left) == (2.0, 0.25)
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


def test_who_is_sure_has_nothing_to_reach():
    assert within_reach(np.array([[1.0, 0.0, 0.0]]), 4.0) == 0
