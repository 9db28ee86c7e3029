"""Weighted links: the matrices of an unweighted graph where all weights are 1, and gradients for the weights."""

from __future__ import annotations

import pytest
import torch

from graphveil.linear.pairs import LearnedMatrix, PairPattern
from graphveil.linear.propagation import gcn_matrix, mean_matrix
from tests.learn.graphs import small_graph

GRAPH = small_graph()[0]
PAIRS = GRAPH.pairs()
PATTERN = PairPattern(PAIRS, GRAPH.node_count)
ONES = torch.ones(len(PAIRS))


def dense(weights):
    """A as a dense matrix, with a gradient."""
    matrix = torch.zeros(GRAPH.node_count, GRAPH.node_count)
    first, second = torch.from_numpy(PAIRS.T)
    return matrix.index_put(
        (torch.cat([first, second]), torch.cat([second, first])), torch.cat([weights] * 2)
    )


def test_weights_of_one_give_the_matrices_of_the_graph():
    assert torch.allclose(PATTERN.matrix(PATTERN.gcn(ONES)).to_dense(), gcn_matrix(GRAPH).to_dense())
    plain = gcn_matrix(GRAPH, loops=False).to_dense()
    assert torch.allclose(PATTERN.matrix(PATTERN.unlooped(ONES)).to_dense(), plain)
    mean = PATTERN.matrix(*PATTERN.mean(ONES))
    assert torch.allclose(mean.to_dense(), mean_matrix(GRAPH).to_dense())
    assert torch.allclose(mean.transposed.to_dense(), mean.to_dense().t())


def test_a_weight_of_zero_is_no_link():
    weights = ONES.clone()
    weights[::3] = 0
    graph = GRAPH.with_edges(PAIRS[(weights > 0).numpy()])
    assert torch.allclose(PATTERN.matrix(PATTERN.gcn(weights)).to_dense(), gcn_matrix(graph).to_dense())
    assert torch.allclose(PATTERN.matrix(*PATTERN.mean(weights)).to_dense(), mean_matrix(graph).to_dense())


@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_are_those_of_the_dense_computation(seed):
    torch.manual_seed(seed)
    weights = torch.rand(len(PAIRS)).requires_grad_()
    values = torch.randn(GRAPH.node_count, 4).requires_grad_()
    direction = torch.randn(GRAPH.node_count, 4)
    matrix = LearnedMatrix(PATTERN, PATTERN.gcn(weights))
    found = torch.autograd.grad(((matrix @ torch.tanh(matrix @ values)) * direction).sum(), (weights, values))
    looped = dense(weights) + torch.eye(GRAPH.node_count)
    scale = looped.sum(1).rsqrt()
    plain = scale[:, None] * looped * scale
    expected = torch.autograd.grad(
        ((plain @ torch.tanh(plain @ values)) * direction).sum(), (weights, values)
    )
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
