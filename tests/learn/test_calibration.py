"""Temperatures: probabilities that are too sure or not sure enough become as sure as they are right."""

import numpy as np
import pytest

from graphveil.graphs.part import Group
from graphveil.graphs.splits import RandomSplit
from graphveil.learn.calibration import (
    USERS_A_BIN,
    Temperatures,
    bin_edges,
    calibrated,
    fit_temperatures,
    log_losses,
    tempered,
)
from tests.collectives import parted
from tests.learn.graphs import as_graph
from tests.together import each

NO_EDGES = np.empty(0)


def drawn(users, classes=4, seed=0):
    """True probabilities of classes, and a class drawn by them for each user."""
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.ones(classes), users)
    labels = (rows.cumsum(1) < random.random(users)[:, None]).sum(1)
    return rows, labels


def distorted(rows, power):
    weights = rows**power
    return weights / weights.sum(1, keepdims=True)


def test_a_temperature_is_a_power_and_rows_sum_to_one():
    rows = tempered(np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(rows, [[1 / 3, 2 / 3], [0.5, 0.5]])
    # Several labels are tempered one by one: odds of 4 to the power 2 are 16.
    rows = tempered(np.array([[0.8, 0.5]]), np.array([0.5]), several=True)
    np.testing.assert_allclose(rows, [[16 / 17, 0.5]])
    # A probability of zero stays finite.
    rows = tempered(np.array([[0.0, 1.0]], dtype=np.float32), np.array([0.2]))
    assert np.isfinite(np.log(rows[0, 1])) and rows.sum() == pytest.approx(1)
    assert Temperatures(NO_EDGES, np.array([2.0])).of(np.array([-1.0, 5.0])).tolist() == [2.0, 2.0]


def test_losses_are_those_of_the_class_of_the_report_and_of_all_labels():
    rows = np.array([[0.25, 0.75]])
    assert log_losses(rows, np.array([0])).tolist() == pytest.approx([np.log(4)])
    # Reported as class 0: a quarter of 0.9 and three quarters of 0.1.
    swap = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert log_losses(rows, np.array([0]), swap).tolist() == pytest.approx([-np.log(0.3)])
    both = -(np.log(0.25) + np.log(0.25)) / 2
    assert log_losses(rows, np.array([[1, 0]])).tolist() == pytest.approx([both])


@pytest.mark.statistical
@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_planted_is_found(power):
    # Of 20,000 users the logarithm has a standard error near 0.01: ten of them are never passed.
    rows, labels = drawn(20_000)
    found = fit_temperatures(distorted(rows, power), labels, np.zeros(len(rows)), NO_EDGES)
    assert np.log(found.values) == pytest.approx([np.log(power)], abs=0.1)


@pytest.mark.statistical
def test_the_temperature_is_found_through_reported_labels():
    # Half of the labels are replaced: the standard error is near 0.03.
    rows, labels = drawn(40_000)
    random = np.random.default_rng(1)
    labels = np.where(random.random(len(labels)) < 0.5, labels, random.integers(0, 4, len(labels)))
    response = 0.5 * np.eye(4) + 0.125
    warm = distorted(rows, 2.0)
    found = fit_temperatures(warm, labels, np.zeros(len(rows)), NO_EDGES, response)
    assert np.log(found.values) == pytest.approx([np.log(2)], abs=0.3)
    # Taken for true labels, they would make everybody less sure.
    assert fit_temperatures(warm, labels, np.zeros(len(rows)), NO_EDGES).values[0] > 3


@pytest.mark.statistical
def test_bins_have_temperatures_of_their_own():
    rows, labels = drawn(20_000)
    numbers = np.arange(20_000) / 20_000
    warm = np.where(numbers[:, None] < 0.5, distorted(rows, 0.5), distorted(rows, 2.0))
    found = fit_temperatures(warm, labels, numbers, np.array([0.5]))
    assert np.log(found.values) == pytest.approx([-np.log(2), np.log(2)], abs=0.15)
    assert found.of(np.array([0.1, 0.5, 0.9])).tolist() == found.values[[0, 1, 1]].tolist()


def test_an_empty_bin_has_the_pooled_temperature_and_one_user_changes_little():
    rows, labels = drawn(500)
    pooled = fit_temperatures(rows, labels, np.zeros(500), NO_EDGES).values[0]
    found = fit_temperatures(rows, labels, np.zeros(500), np.array([1.0]))
    assert found.values[1] == pytest.approx(pooled, rel=2e-3)
    found = fit_temperatures(np.array([[0.9, 0.1]]), np.array([1]), np.zeros(1), NO_EDGES)
    assert 1 < found.values[0] < 5


def test_there_are_as_many_bins_as_judges_allow():
    def check(case):
        users, bins = case
        numbers = np.random.default_rng(0).random(users)
        edges = bin_edges(numbers.copy())
        assert len(edges) == bins - 1
        assert np.bincount(np.searchsorted(edges, numbers, side="right")).min() >= min(USERS_A_BIN - 1, users)

    each([(1, 1), (299, 1), (300, 2), (700, 4), (5000, 6)], check)
    assert len(bin_edges(np.zeros(2000))) == 1


def test_nobody_s_own_label_is_in_their_row():
    rows, labels = drawn(900)
    numbers, judges = np.random.default_rng(2).random(900), Group.alone(np.arange(600))

    def found(labels):
        return calibrated(distorted(rows, 2.0), labels, numbers, judges)[0]

    before, user, other = found(labels), 17, labels.copy()
    other[user] = (other[user] + 1) % 4
    after = found(other)
    assert np.array_equal(before[user], after[user])
    changed = (before != after).any(1)
    # Whoever does not judge has the temperatures of all, so a label changes those of the bin.
    assert changed[600:].any() and changed[:600].any()
    # Labels of those who do not judge change nothing.
    assert np.array_equal(found(np.where(np.arange(900) < 600, labels, -1)), before)


def test_judges_of_all_workers_calibrate_everybody():
    """Users are divided at random; one worker's users judge nothing."""
    rows, labels = drawn(900)
    rows, numbers = distorted(rows, 2.0), np.random.default_rng(2).random(900)
    graph = as_graph(np.empty((0, 2), dtype=int), labels, 1, RandomSplit().draw(labels, 0))
    judging = graph.validation & (np.arange(900) % 3 != 0)
    expected, temperatures = calibrated(rows, labels, numbers, Group.alone(np.flatnonzero(judging)))

    def work(part):
        own = part.original
        found = calibrated(rows[own], labels[own], numbers[own], Group.of(part, judging[own]))
        return own, *found

    for own, found, theirs in parted(graph, 3, work):
        assert np.array_equal(found, expected[own])
        assert np.array_equal(theirs.values, temperatures.values)
