"""Polynomials and Chebyshev series of a matrix: what they are, their gradients, and the room that they take."""

import numpy as np
import pytest
import torch
from scipy.sparse import random_array

from graphveil.errors import InputError
from graphveil.linear import (
    Chebyshev,
    Composition,
    Polynomial,
    SparseMatrix,
    gcn_matrix,
    mean_matrix,
    pagerank_matrix,
)
from tests.learn.graphs import small_graph

COEFFICIENTS = [0.5, 0.0, -1.0, 0.25, 2.0]
GRAPH = small_graph()[0]
# The mean is not symmetric, so a gradient that forgets to transpose is seen.
MATRICES = [gcn_matrix(GRAPH), mean_matrix(GRAPH)]
PAGERANKS = [pagerank_matrix(GRAPH, r) for r in (0.0, 0.3, 0.5, 1.0)]

each_series = pytest.mark.parametrize(
    ("kind", "matrix"),
    [*((Polynomial, matrix) for matrix in MATRICES), *((Chebyshev, matrix) for matrix in PAGERANKS)],
)


def by_hand(kind, matrix, coefficients, dense):
    """Σ_k c_k P^k X, or Σ_k c_k T_k(P) X by T_k+1 = 2P T_k - T_k-1."""
    matrix = matrix.to_dense()
    before, term, total = matrix @ dense, dense, torch.zeros_like(dense)
    for coefficient in coefficients:
        total = total + coefficient * term
        before, term = term, matrix @ term if kind is Polynomial else 2 * matrix @ term - before
    return total


def assert_close(kind, one, other):
    torch.testing.assert_close(one, other, **({} if kind is Polynomial else {"atol": 1e-4, "rtol": 1e-4}))


@each_series
def test_it_and_its_gradient_equal_the_sum_s(kind, matrix):
    weights, dense = torch.randn(60, 5), torch.randn(60, 5, requires_grad=True)
    got = kind(matrix, COEFFICIENTS) @ dense
    other = dense.detach().clone().requires_grad_()
    expected = by_hand(kind, matrix, COEFFICIENTS, other)
    assert_close(kind, got, expected)
    (got * weights).sum().backward()
    (expected * weights).sum().backward()
    assert_close(kind, dense.grad, other.grad)


@pytest.mark.parametrize("matrix", PAGERANKS)
def test_a_chebyshev_series_equals_the_polynomial_with_the_same_powers(matrix):
    # T_3(x) = 4x³ - 3x, T_2(x) = 2x² - 1.
    dense = torch.randn(60, 5)
    got = Chebyshev(matrix, [0.0, 0.0, 1.0, 1.0]) @ dense
    assert_close(Chebyshev, got, Polynomial(matrix, [-1.0, -3.0, 2.0, 4.0]) @ dense)


def test_a_chebyshev_series_gradient_equals_finite_differences():
    series = Chebyshev(pagerank_matrix(GRAPH, 0.3, dtype=torch.float64), COEFFICIENTS)
    dense = torch.randn(60, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: series @ x, (dense,))


@each_series
def test_given_room_is_used_and_gives_the_same(kind, matrix):
    for coefficients in (COEFFICIENTS, COEFFICIENTS[:4], [0.5, 1.0], [0.5], [1.0]):
        dense, total, spare = torch.randn(60, 5), torch.full((60, 5), torch.nan), torch.zeros(60, 5)
        got = kind(matrix, coefficients).into(dense, total, spare)
        torch.testing.assert_close(got, kind(matrix, coefficients) @ dense)
        assert got.data_ptr() in (total.data_ptr(), spare.data_ptr())


@each_series
def test_no_hop_is_kept_for_the_gradient_and_the_identity_costs_nothing(kind, matrix):
    kept, dense = [], torch.randn(60, 5, requires_grad=True)

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kind(matrix, [1 / 64] * 64) @ dense
    assert kept == []
    assert (kind(matrix, [1.0]) @ dense) is dense


@each_series
def test_a_composition_equals_the_product(kind, matrix):
    series, inner = kind(matrix, COEFFICIENTS), torch.randn(60, 4)
    composed = Composition(series, inner)
    assert composed.shape == (60, 4) and series.degree == 4
    assert_close(kind, composed.to_dense(), by_hand(kind, matrix, COEFFICIENTS, inner))


@pytest.mark.parametrize("kind", [Polynomial, Chebyshev])
def test_bad_series_are_refused(kind):
    with pytest.raises(InputError, match="need a coefficient"):
        kind(MATRICES[0], [])
    wide = SparseMatrix.from_csr(np.array([0, 1]), np.array([1]), np.ones(1), (1, 3))
    with pytest.raises(InputError, match="need a square matrix, got 1 x 3"):
        kind(wide, [1.0])


@pytest.mark.parametrize("series", [Polynomial, Chebyshev])
def test_users_in_another_order_get_the_same(series, monkeypatch):
    links = random_array((60, 60), density=0.1, rng=np.random.default_rng(0), dtype=np.float32)
    links = (links + links.T).tocsr() / 20
    coefficients, dense = [0.5, 0.0, 0.25, 1.0, -1.0], torch.randn(60, 5, dtype=torch.float32)

    def computed():
        arrays = links.indptr, links.indices, links.data
        matrix = SparseMatrix.from_csr(*arrays, links.shape, symmetric=True)
        given = dense.clone().requires_grad_()
        product = series(matrix, coefficients) @ given
        (product * dense).sum().backward()
        return matrix, product.detach(), given.grad

    matrix, *expected = computed()
    assert matrix.clustered is None
    monkeypatch.setattr("graphveil.linear.sparse.MANY_USERS", 1)
    matrix, *found = computed()
    assert matrix.clustered is not None
    torch.testing.assert_close(found, expected)
