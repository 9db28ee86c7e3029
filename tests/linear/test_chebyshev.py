import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.linear import Chebyshev, Composition, Polynomial, SparseMatrix, gcn_matrix, pagerank_matrix
from tests.learn.graphs import small_graph
from tests.together import together

COEFFICIENTS = [0.5, 0.0, -1.0, 0.25, 2.0]


@pytest.fixture(params=[0.0, 0.3, 0.5, 1.0])
def matrix(request):
    return pagerank_matrix(small_graph()[0], request.param)


def by_hand(matrix, coefficients, dense):
    """Σ_k c_k T_k(P) X by T_k+1 = 2P T_k - T_k-1."""
    matrix = matrix.to_dense()
    before, term = matrix @ dense, dense
    total = torch.zeros_like(dense)
    for coefficient in coefficients:
        total = total + coefficient * term
        before, term = term, 2 * matrix @ term - before
    return total


def test_it_equals_the_sum_of_terms(matrix):
    dense = torch.randn(60, 5)
    got = Chebyshev(matrix, COEFFICIENTS) @ dense
    torch.testing.assert_close(got, by_hand(matrix, COEFFICIENTS, dense), atol=1e-4, rtol=1e-4)


def test_it_equals_the_polynomial_with_the_same_powers(matrix):
    # T_3(x) = 4x³ - 3x, T_2(x) = 2x² - 1.
    dense = torch.randn(60, 5)
    got = Chebyshev(matrix, [0.0, 0.0, 1.0, 1.0]) @ dense
    torch.testing.assert_close(got, Polynomial(matrix, [-1.0, -3.0, 2.0, 4.0]) @ dense, atol=1e-4, rtol=1e-4)


def test_its_gradient_equals_the_sum_s(matrix):
    weights, dense = torch.randn(60, 5), torch.randn(60, 5, requires_grad=True)
    ((Chebyshev(matrix, COEFFICIENTS) @ dense) * weights).sum().backward()
    other = dense.detach().clone().requires_grad_()
    (by_hand(matrix, COEFFICIENTS, other) * weights).sum().backward()
    torch.testing.assert_close(dense.grad, other.grad, atol=1e-4, rtol=1e-4)


def test_its_gradient_equals_finite_differences():
    matrix = pagerank_matrix(small_graph()[0], 0.3, dtype=torch.float64)
    series = Chebyshev(matrix, COEFFICIENTS)
    dense = torch.randn(60, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: series @ x, (dense,))


@together("coefficients", [COEFFICIENTS, COEFFICIENTS[:4], [0.5, 1.0], [0.5], [1.0]])
def test_given_room_is_used_and_gives_the_same(matrix, coefficients):
    dense = torch.randn(60, 5)
    total, spare = torch.full((60, 5), torch.nan), torch.zeros(60, 5)
    got = Chebyshev(matrix, coefficients).into(dense, total, spare)
    torch.testing.assert_close(got, Chebyshev(matrix, coefficients) @ dense)
    assert got.data_ptr() in (total.data_ptr(), spare.data_ptr())


def test_no_hop_is_kept_for_the_gradient(matrix):
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    dense = torch.randn(60, 5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        Chebyshev(matrix, [1 / 64] * 64) @ dense
    assert kept == []


def test_the_identity_costs_nothing(matrix):
    dense = torch.randn(60, 2)
    assert (Chebyshev(matrix, [1.0]) @ dense) is dense


def test_a_composition_takes_it():
    matrix, inner = gcn_matrix(small_graph()[0]), torch.randn(60, 4)
    series = Chebyshev(matrix, COEFFICIENTS)
    composed = Composition(series, inner)
    assert composed.shape == (60, 4) and series.degree == 4
    torch.testing.assert_close(
        composed.to_dense(), by_hand(matrix, COEFFICIENTS, inner), atol=1e-4, rtol=1e-4
    )


def test_bad_series_are_refused(matrix):
    with pytest.raises(InputError, match="need a coefficient"):
        Chebyshev(matrix, [])
    wide = SparseMatrix.from_csr(np.array([0, 1]), np.array([1]), np.ones(1), (1, 3))
    with pytest.raises(InputError, match="need a square matrix, got 1 x 3"):
        Chebyshev(wide, [1.0])
