"""FlexProp: means in which users count by their weights, as one linear map."""

import numpy as np
import pytest
import torch

from graphveil import InputError
from graphveil.denoise.modules import KProp, user_weights
from graphveil.linear import weighted_mean_matrix
from tests.learn.graphs import small_graph

GRAPH = small_graph()[0]


def dense(weights):
    matrix = np.eye(GRAPH.node_count)
    matrix[tuple(GRAPH.edge_list())] = 1
    matrix = matrix * weights
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_it_is_the_power_of_the_weighted_mean(hops):
    random = np.random.default_rng(0)
    weights = random.integers(1, 5, GRAPH.node_count).astype(float)
    rows = torch.from_numpy(random.standard_normal((GRAPH.node_count, 4)).astype(np.float32))
    expected = np.linalg.matrix_power(dense(weights), hops) @ rows.numpy()
    ours = KProp(hops).operator(weighted_mean_matrix(GRAPH, weights)) @ rows
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_only_ratios_of_weights_matter_and_constants_and_users_alone_stay():
    weights = np.random.default_rng(1).random(GRAPH.node_count) + 0.1
    rows, ones = torch.randn(GRAPH.node_count, 3), torch.ones(GRAPH.node_count, 1)

    def averaged(graph, rows, weights=weights):
        return KProp(5).operator(weighted_mean_matrix(graph, weights)) @ rows

    torch.testing.assert_close(averaged(GRAPH, ones), ones)
    torch.testing.assert_close(averaged(GRAPH, rows), averaged(GRAPH, rows, 1e6 * weights))
    torch.testing.assert_close(averaged(GRAPH.without_edges(), rows), rows)


def test_inverse_variances_make_the_variance_of_a_mean_smallest():
    random = np.random.default_rng(2)
    levels = random.integers(1, 4, GRAPH.node_count)
    variances = np.array([16.0, 4.0, 1.0])
    noise = variances[levels - 1]

    def variance(weights):
        return dense(weights) ** 2 @ noise

    best = variance(user_weights(levels, variances, "inverse-variance"))
    for other in (
        user_weights(levels, variances, "printed"),
        np.ones(len(levels)),
        random.random(len(levels)),
    ):
        assert (best <= variance(other) + 1e-12).all()
        assert best.sum() < variance(other).sum()


def test_printed_weights_are_the_levels_and_variances_that_are_none_are_refused():
    np.testing.assert_array_equal(user_weights(np.array([1, 3, 2]), np.ones(3), "printed"), [1, 3, 2])
    with pytest.raises(InputError, match="positive and finite"):
        user_weights(np.array([1, 2]), np.array([1.0, 0.0]), "inverse-variance")
