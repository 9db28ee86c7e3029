"""Advice on levels: errors from public numbers alone, checked against simulated reports."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.graphs import load
from graphveil.methods.ppgnn import level_errors

SHARES = np.array([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def graph():
    return load("town", users=300)[0]


def personal(**more):
    return gv.mechanism("ppm", epsilon=1.0, dims=4, range=(0, 1), levels=3, binary=True, **more)


def test_the_error_of_a_report_is_what_reports_show(graph):
    mechanism = personal()
    errors = level_errors(graph, mechanism, SHARES)
    random = np.random.default_rng(0)
    rows = (random.random((40_000, 4)) < 0.5).astype(float)
    for level in (1, 2, 3):
        reports = mechanism.randomize((np.full(len(rows), level), rows), gv.SeededWords(level))
        error = np.sqrt(((mechanism.estimate(reports, SHARES).dense() - rows) ** 2).mean())
        assert errors[level - 1].own == pytest.approx(error, rel=0.03)


def test_stricter_levels_have_larger_errors_and_all_are_named(graph):
    errors = level_errors(graph, personal(gamma=0.5), SHARES)
    assert [each.level for each in errors] == [1, 2, 3]
    assert [each.budget for each in errors] == [1.0, 2.0, 4.0]
    assert errors[0].own > errors[1].own > errors[2].own
    assert len({each.mean for each in errors}) == 1
    assert errors[-1].without is None


def test_leaving_out_everybody_but_few_costs_more(graph):
    errors = level_errors(graph, personal(), np.array([0.1, 0.85, 0.05]))
    assert errors[1].without > errors[0].without


def test_more_neighbours_mean_a_smaller_error(graph):
    dense = load("town", users=300, degree=40)[0]
    assert dense.degrees.mean() > graph.degrees.mean()
    assert level_errors(dense, personal(), SHARES)[0].mean < level_errors(graph, personal(), SHARES)[0].mean
