import numpy as np
import pytest
import torch
from scipy.sparse import random_array

from graphveil.errors import InputError
from graphveil.linear import Chebyshev, Composition, Polynomial, SparseMatrix, gcn_matrix, mean_matrix
from tests.learn.graphs import small_graph

COEFFICIENTS = [0.5, 0.0, -1.0, 0.25]


@pytest.fixture(params=[gcn_matrix, mean_matrix])
def matrix(request):
    return request.param(small_graph()[0])


def by_hand(matrix, coefficients, dense):
    power, total = dense, torch.zeros_like(dense)
    for coefficient in coefficients:
        total = total + coefficient * power
        power = matrix.to_dense() @ power
    return total


def test_it_equals_the_sum_of_powers(matrix):
    dense = torch.randn(60, 5)
    got = Polynomial(matrix, COEFFICIENTS) @ dense
    torch.testing.assert_close(got, by_hand(matrix, COEFFICIENTS, dense))


def test_its_gradient_equals_the_sum_s(matrix):
    # The mean is not symmetric, so a gradient that forgets to transpose is seen.
    weights, dense, other = torch.randn(60, 5), torch.randn(60, 5, requires_grad=True), None
    ((Polynomial(matrix, COEFFICIENTS) @ dense) * weights).sum().backward()
    other = dense.detach().clone().requires_grad_()
    (by_hand(matrix, COEFFICIENTS, other) * weights).sum().backward()
    torch.testing.assert_close(dense.grad, other.grad)


def test_given_room_is_used_and_gives_the_same(matrix):
    dense = torch.randn(60, 5)
    total, spare = torch.empty(60, 5), torch.empty(60, 5)
    got = Polynomial(matrix, COEFFICIENTS).into(dense, total, spare)
    torch.testing.assert_close(got, Polynomial(matrix, COEFFICIENTS) @ dense)
    assert got.data_ptr() in (total.data_ptr(), spare.data_ptr())


def test_no_hop_is_kept_for_the_gradient(matrix):
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    dense = torch.randn(60, 5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        Polynomial(matrix, [1 / 64] * 64) @ dense
    assert kept == []


def test_the_identity_costs_nothing(matrix):
    dense = torch.randn(60, 2)
    assert (Polynomial(matrix, [1.0]) @ dense) is dense


def test_bad_polynomials_are_refused(matrix):
    with pytest.raises(InputError, match="need a coefficient"):
        Polynomial(matrix, [])
    wide = SparseMatrix.from_csr(np.array([0, 1]), np.array([1]), np.ones(1), (1, 3))
    with pytest.raises(InputError, match="need a square matrix, got 1 x 3"):
        Polynomial(wide, [1.0])


def test_a_composition_equals_the_product(matrix):
    inner = torch.randn(60, 4)
    composed = Composition(Polynomial(matrix, COEFFICIENTS), inner)
    assert composed.shape == (60, 4)
    torch.testing.assert_close(composed.to_dense(), by_hand(matrix, COEFFICIENTS, inner))


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
