"""Adaptive residual connections, against the formulas of Liu et al. (2021) written down once more, dense and row by row."""

import numpy as np
import pytest
import torch

from graphveil.denoise import AdaptiveResidual
from graphveil.linear import gcn_matrix
from graphveil.mechanisms import Estimate
from tests.learn.graphs import small_graph
from tests.refusals import check_refused

USERS = 60


def dense_matrix(graph):
    """(D + I)^-1/2 (A + I) (D + I)^-1/2."""
    adjacency = np.eye(graph.node_count)
    adjacency[tuple(graph.edge_list())] = 1
    scale = adjacency.sum(axis=1) ** -0.5
    return scale[:, None] * adjacency * scale


def reference(matrix, own, hops, weight):
    """Proximal gradient descent on λ Σ_i ‖x_i - own_i‖ + (1-λ) tr xᵀ(I - Â)x, in steps of 1/(2(1-λ)), as it is derived."""
    step, x = 1 / (2 * (1 - weight)), own.copy()
    for _ in range(hops):
        gradient = 2 * (1 - weight) * (x - matrix @ x)
        y = x - step * gradient
        for i in range(len(own)):
            away = y[i] - own[i]
            length = np.sqrt((away**2).sum())
            x[i] = own[i] + max(length - step * weight, 0) * away / length if length else own[i]
    return x


def objective(matrix, own, x, weight):
    apart = np.linalg.norm(x - own, axis=1).sum()
    return weight * apart + (1 - weight) * np.trace(x.T @ (x - matrix @ x))


@pytest.fixture
def setting():
    graph, rows, _ = small_graph()
    return graph, torch.from_numpy(graph.edge_list()), rows.astype(np.float64), dense_matrix(graph)


def sparse_estimate(rows):
    """Rows as reports, with only their non-zero entries."""
    users, columns = np.nonzero(rows)
    indptr = np.searchsorted(users, np.arange(len(rows) + 1))
    return Estimate(rows.shape, indptr, columns.astype(np.int32), rows[users, columns], 0.5, True)


def dense_estimate(rows):
    """Rows as reports of every value."""
    return Estimate(rows.shape, np.arange(len(rows) + 1) * rows.shape[1], None, rows.ravel(), 0.5, True)


@pytest.mark.parametrize(("hops", "weight"), [(0, 0.3), (1, 0.0), (2, 0.5), (7, 0.3), (7, 0.8)])
def test_the_module_is_the_proximal_iteration(setting, hops, weight):
    _, edges, rows, matrix = setting
    got = AdaptiveResidual(hops, weight)(torch.from_numpy(rows), edges)
    np.testing.assert_allclose(got, reference(matrix, rows, hops, weight), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("hops", "dense"), [(0, False), (1, True), (7, False), (7, True)])
def test_reports_in_blocks_are_the_proximal_iteration(setting, hops, dense):
    graph, _, rows, matrix = setting
    rows = np.where(np.random.default_rng(5).random(rows.shape) < 0.4, rows, 0)
    # More columns than a block has, some of them empty.
    rows = np.concatenate([rows, np.zeros((USERS, 30)), 2 * rows], axis=1)
    estimate = dense_estimate(rows) if dense else sparse_estimate(rows)
    got = AdaptiveResidual(hops, 0.4).on_reports(estimate, gcn_matrix(graph))
    np.testing.assert_allclose(got, reference(matrix, rows, hops, 0.4), rtol=1e-4, atol=1e-5)


def test_many_hops_reach_the_smallest_objective(setting):
    _, edges, rows, matrix = setting
    got = AdaptiveResidual(300, 0.4)(torch.from_numpy(rows), edges).numpy()
    lowest = objective(matrix, rows, got, 0.4)
    rng = np.random.default_rng(1)
    for size in (1e-2, 1e-1, 1.0):
        for _ in range(20):
            assert objective(matrix, rows, got + size * rng.standard_normal(rows.shape), 0.4) > lowest
    assert objective(matrix, rows, rows, 0.4) > lowest


def test_a_unit_scales_what_is_near(setting):
    _, edges, rows, _ = setting
    rows = torch.from_numpy(rows).float()
    plain = AdaptiveResidual(5, 0.4)(rows, edges)
    torch.testing.assert_close(AdaptiveResidual(5, 0.4, unit=50.0)(50 * rows, edges), 50 * plain)
    assert not torch.allclose(AdaptiveResidual(5, 0.4)(50 * rows, edges), 50 * plain, rtol=0.01)


def test_who_is_near_the_own_report_or_alone_stays_there_and_who_is_far_does_not(setting):
    graph, edges, rows, matrix = setting
    away = np.linalg.norm(matrix @ rows - rows, axis=1)
    unit = float(np.median(away)) * 2
    got = AdaptiveResidual(1, 0.5, unit)(torch.from_numpy(rows), edges)
    stays = np.isclose(got, rows, rtol=1e-5, atol=1e-6).all(axis=1)
    assert np.array_equal(stays, away <= unit / 2)
    graph, edges, rows, _ = setting
    alone = graph.degrees == 0
    assert alone.any()
    got = AdaptiveResidual(4)(torch.from_numpy(rows), edges)
    np.testing.assert_allclose(got[torch.from_numpy(alone)], rows[alone], rtol=1e-6)


def test_it_has_a_gradient_and_a_repr(setting):
    _, edges, rows, _ = setting
    x = torch.from_numpy(rows).requires_grad_()
    module = AdaptiveResidual(3, 0.25)
    module(x, edges).square().sum().backward()
    assert torch.isfinite(x.grad).all() and x.grad.abs().sum() > 0
    assert list(module.parameters()) == []
    assert repr(module) == "AdaptiveResidual(3, weight=0.25, unit=1)"


def test_what_makes_no_sense_is_refused():
    wrong = [
        ({"hops": -1}, "hops must be an integer of at least 0"),
        ({"hops": 1, "weight": 1.0}, "weight must be"),
        ({"hops": 1, "weight": -0.1}, "weight must be"),
        ({"hops": 1, "unit": 0.0}, "unit must be"),
    ]
    check_refused(lambda given: AdaptiveResidual(**given), wrong)
