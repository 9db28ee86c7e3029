"""Simulated answers: what rows that tell everything or nothing add, beside formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.graphs.splits import GivenSplit
from graphveil.methods.structure import Posterior
from graphveil.methods.veil_advice import VolunteerRows, simulated_gain, volunteer_rows, within_reach
from graphveil.methods.veil_model import PublicModel


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


def test_a_class_without_volunteers_adds_less():
    rows, told = rows_of(3), certain(3)
    some = replace(told, scores=told.scores[:2], classes=told.classes[:2])
    assert simulated_gain(rows, some, 6.0) < simulated_gain(rows, told, 6.0) - 0.02


def test_the_same_seed_gives_the_same_number():
    assert simulated_gain(rows_of(3), certain(3), 2.0, seed=4) == simulated_gain(
        rows_of(3), certain(3), 2.0, seed=4
    )


def test_volunteers_have_their_label_or_their_likeliest_class():
    masks = np.eye(3, dtype=bool)[:, [0, 0, 1, 2, 2]]
    panel = np.array([True, False, False, True, True])
    graph, _ = gv.from_arrays(
        [[0, 1], [2, 3], [3, 4]],
        np.eye(5),
        [1, 0, 0, 1, 0],
        range=(0, 1),
        split=GivenSplit(*masks),
        panel=panel,
    )
    rows = np.array([[1, 0], [0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.1, 0.9]])
    posterior = Posterior(rows, rows.astype(np.float32), np.ones(5), "", 0.0, 1.0)
    told = volunteer_rows(graph, posterior, PublicModel(None, 1.0, gain=-0.5, own=None))
    # User 0 trains and has the label 1; users 3 and 4 are test users, whose labels nobody knows.
    assert told.classes.tolist() == [1, 0, 1]
    assert told.scores.tolist() == [[0, 0]] * 3 and told.nats == 0
