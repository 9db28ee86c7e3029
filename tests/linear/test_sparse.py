import numpy as np
import pytest
import torch
from scipy.sparse import random as random_sparse

from graphveil.errors import InputError
from graphveil.linear.sparse import SparseMatrix


@pytest.fixture
def matrix():
    return random_sparse(7, 5, density=0.4, format="csr", random_state=0, dtype=np.float32)


def wrap(matrix, **options):
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape, **options)


def test_a_product_equals_the_dense_one(matrix):
    dense = torch.randn(5, 3)
    torch.testing.assert_close(wrap(matrix) @ dense, torch.from_numpy(matrix.toarray()) @ dense)


def test_its_gradient_equals_the_dense_one(matrix):
    dense = torch.randn(5, 3, requires_grad=True)
    weights = torch.randn(7, 3)
    ((wrap(matrix) @ dense) * weights).sum().backward()
    torch.testing.assert_close(dense.grad, torch.from_numpy(matrix.toarray()).t() @ weights)


def test_a_symmetric_matrix_keeps_one_copy():
    product = wrap(random_sparse(4, 4, format="csr", dtype=np.float32), symmetric=True)
    assert product._rows is product._columns


def test_shape_and_dense_form(matrix):
    assert wrap(matrix).shape == (7, 5)
    np.testing.assert_array_equal(wrap(matrix).to_dense().numpy(), matrix.toarray())


def test_a_column_without_entries_gets_a_zero_gradient():
    dense = torch.ones(3, 2, requires_grad=True)
    matrix = SparseMatrix.from_csr(np.array([0, 1]), np.array([1]), np.array([2.0]), (1, 3))
    (matrix @ dense).sum().backward()
    assert dense.grad.tolist() == [[0, 0], [2, 2], [0, 0]]


def test_a_thinned_matrix_and_its_transpose_agree(matrix):
    torch.manual_seed(0)
    thin = wrap(matrix).thinned(0.5)
    full, left = torch.from_numpy(matrix.toarray()), thin.to_dense()
    kept = left != 0
    torch.testing.assert_close(left[kept], 2 * full[kept])
    assert 0 < int(kept.sum()) < matrix.nnz
    torch.testing.assert_close(thin.transposed.to_dense(), left.t())


def test_entries_of_a_symmetric_matrix_are_not_dropped():
    with pytest.raises(InputError, match="build it from rows"):
        wrap(random_sparse(4, 4, format="csr", dtype=np.float32), symmetric=True).thinned(0.5)


def test_what_was_in_the_given_room_does_not_matter(matrix):
    dense, room = torch.randn(5, 3), torch.full((7, 3), float("nan"))
    torch.testing.assert_close(wrap(matrix).multiply(dense, out=room), wrap(matrix) @ dense)
    assert torch.isfinite(room).all()


def test_a_product_with_an_addition(matrix):
    dense, added = torch.randn(5, 3), torch.randn(7, 3)
    expected = torch.from_numpy(matrix.toarray()) @ dense + 0.25 * added
    torch.testing.assert_close(wrap(matrix).multiply_add(dense, added, 0.25), expected)
