import numpy as np
import pytest
import torch
from scipy.sparse import random as random_sparse

from graphveil.errors import InputError
from graphveil.learn.inputs import thinned
from graphveil.linear import Composition, Polynomial, Scaled, scaled
from graphveil.linear.sparse import SparseMatrix, edges_of
from tests.together import together


@pytest.fixture
def matrix():
    return random_sparse(7, 5, density=0.4, format="csr", random_state=0, dtype=np.float32)


def wrap(matrix, **options):
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape, **options)


def test_a_product_and_its_gradient_equal_the_dense_ones(matrix):
    dense = torch.randn(5, 3)
    torch.testing.assert_close(wrap(matrix) @ dense, torch.from_numpy(matrix.toarray()) @ dense)
    dense = torch.randn(5, 3, requires_grad=True)
    weights = torch.randn(7, 3)
    ((wrap(matrix) @ dense) * weights).sum().backward()
    torch.testing.assert_close(dense.grad, torch.from_numpy(matrix.toarray()).t() @ weights)
    assert wrap(matrix).shape == (7, 5)
    np.testing.assert_array_equal(wrap(matrix).to_dense().numpy(), matrix.toarray())
    dense, added = torch.randn(5, 3), torch.randn(7, 3)
    expected = torch.from_numpy(matrix.toarray()) @ dense + 0.25 * added
    torch.testing.assert_close(wrap(matrix).multiply_add(dense, added, 0.25), expected)


def test_a_symmetric_matrix_keeps_one_copy_and_all_entries():
    product = wrap(random_sparse(4, 4, format="csr", dtype=np.float32), symmetric=True)
    assert product._rows is product._columns
    with pytest.raises(InputError, match="build it from rows"):
        wrap(random_sparse(4, 4, format="csr", dtype=np.float32), symmetric=True).thinned(0.5)


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


def test_what_was_in_the_given_room_does_not_matter(matrix):
    dense, room = torch.randn(5, 3), torch.full((7, 3), float("nan"))
    torch.testing.assert_close(wrap(matrix).multiply(dense, out=room), wrap(matrix) @ dense)
    assert torch.isfinite(room).all()


# Compositions and what is scaled


ROWS = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]], dtype=np.float32)


def sparse(rows=ROWS):
    places = rows.nonzero()
    indptr = np.concatenate([[0], np.cumsum((rows != 0).sum(1))])
    return SparseMatrix.from_csr(indptr, places[1], rows[places], rows.shape)


def swap():
    return Polynomial(sparse(np.array([[0, 1], [1, 0]], dtype=np.float32)), [0.0, 1.0])


@pytest.mark.parametrize("inputs", [torch.from_numpy(ROWS), sparse(), Composition(swap(), sparse())])
def test_a_scaled_input_is_a_larger_one_to_the_bit(inputs):
    weights = torch.tensor([[0.1, 0.7], [0.3, -0.2], [0.9, 0.4]])
    larger = Scaled(inputs, 16.0)
    assert larger.shape == (2, 3)
    assert torch.equal(larger @ weights, 16.0 * (inputs @ weights))


def test_dropout_reaches_what_is_scaled_and_nothing_is_wrapped_where_the_factor_is_1():
    torch.manual_seed(0)
    ones = torch.ones(40, 3)
    dropped = thinned(Scaled(ones, 4.0), 0.5) @ torch.eye(3)
    assert set(dropped.ravel().tolist()) == {0.0, 8.0}
    inputs = sparse()
    assert scaled(inputs, 1.0) is inputs
    assert isinstance(scaled(inputs, 2.0), Scaled)


# Edges in all forms in which PyG's layers take them


# 0 -> 1 of weight 2, 2 -> 1 of weight 3.
INDEX, WEIGHTS = torch.tensor([[0, 2], [1, 1]]), torch.tensor([2.0, 3.0])
DENSE = torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])


class Outside:
    """What torch_sparse's SparseTensor looks like."""

    def coo(self):
        return INDEX[1], INDEX[0], WEIGHTS

    def sizes(self):
        return [3, 3]


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta state")
@pytest.mark.parametrize(
    "given",
    [
        lambda: (INDEX, 3, WEIGHTS),
        lambda: (DENSE.to_sparse(), 3),
        lambda: (DENSE.to_sparse_csr(), 3),
        lambda: (DENSE.to_sparse_csc(), 3),
        lambda: (Outside(), 3),
    ],
    ids=["edge_index", "coo", "csr", "csc", "torch_sparse"],
)
def test_all_forms_are_the_same_edges(given):
    edges = edges_of(*given())
    found = sorted(zip(edges.source.tolist(), edges.target.tolist(), edges.weights.tolist(), strict=True))
    assert found == [(0, 1, 2.0), (2, 1, 3.0)]
    assert not edges.plain and edges_of(INDEX, 3).plain


@together(
    ("arguments", "words"),
    [
        ((DENSE, 3), "edges must be an edge_index"),
        (("edges", 3), "got str"),
        ((DENSE.to_sparse(), 4), "must be 4 x 4"),
        ((DENSE.to_sparse(), 3, WEIGHTS), "leave edge_weight out"),
        ((INDEX, 3, WEIGHTS[:1]), "one an edge"),
        ((INDEX, 3, -WEIGHTS), "at least 0"),
        ((INDEX, 3, WEIGHTS * np.nan), "finite"),
        ((INDEX, 2), r"nodes 0\.\.1, got 0\.\.2"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        edges_of(*arguments)
