"""Weighted links: the matrices of an unweighted graph where all weights are 1, and gradients for the weights."""

import numpy as np
import pytest
import torch

from graphveil.linear.kernels import weighted_products, weights_gradient
from graphveil.linear.pairs import PAIRS_AT_ONCE, LearnedMatrix, PairPattern, PairProducts
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


# Inner products of pairs: against the plain computation, with their gradients


GRAPH = small_graph()[0]
PAIRS = GRAPH.pairs()


def plain(rows):
    first, second = torch.from_numpy(PAIRS.T)
    return (rows[first] * rows[second]).sum(1)


def test_products_and_their_gradient_are_the_plain_ones():
    rows = torch.randn(GRAPH.node_count, 7, dtype=torch.float32)
    one, other = (rows.clone().requires_grad_() for _ in range(2))
    weights = torch.randn(len(PAIRS))
    ours, theirs = PairProducts(PAIRS, GRAPH.node_count)(one), plain(other)
    torch.testing.assert_close(ours, theirs)
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    torch.testing.assert_close(one.grad, other.grad)


def test_many_pairs_are_taken_in_parts():
    users = 300
    pairs = np.stack(np.triu_indices(users, 1), axis=1)
    assert len(pairs) > PAIRS_AT_ONCE
    rows = torch.randn(users, 3)
    expected = (rows @ rows.t())[pairs[:, 0], pairs[:, 1]]
    torch.testing.assert_close(PairProducts(pairs, users)(rows), expected)


@pytest.mark.parametrize("columns", [1, 5, 300])
def test_wide_products_and_their_gradient_are_the_plain_ones(columns):
    random = np.random.default_rng(columns)
    rows = random.standard_normal((20, columns)).astype(np.float32)
    weights = random.standard_normal(columns).astype(np.float32)
    pairs = random.integers(0, 20, (50, 2))
    features = rows[pairs[:, 0]] * rows[pairs[:, 1]]
    np.testing.assert_allclose(
        weighted_products(rows, pairs, weights), features @ weights, rtol=1e-4, atol=1e-4
    )
    slopes = random.standard_normal(50).astype(np.float32)
    np.testing.assert_allclose(weights_gradient(rows, pairs, slopes), slopes @ features, rtol=1e-4, atol=1e-4)


def test_wide_products_are_repeatable():
    random = np.random.default_rng(0)
    rows = random.standard_normal((20, 1000)).astype(np.float32)
    pairs, weights = random.integers(0, 20, (50, 2)), np.ones(1000, dtype=np.float32)
    np.testing.assert_array_equal(
        weighted_products(rows, pairs, weights), weighted_products(rows, pairs, weights)
    )
