import numpy as np
import pytest
import torch

from graphveil.learn.inputs import thinned
from graphveil.linear import Composition, Polynomial, Scaled, SparseMatrix, scaled

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


def test_nothing_is_wrapped_where_the_factor_is_1():
    inputs = sparse()
    assert scaled(inputs, 1.0) is inputs
    assert isinstance(scaled(inputs, 2.0), Scaled)


def test_dropout_reaches_what_is_scaled():
    torch.manual_seed(0)
    ones = torch.ones(40, 3)
    dropped = thinned(Scaled(ones, 4.0), 0.5) @ torch.eye(3)
    assert set(dropped.ravel().tolist()) == {0.0, 8.0}
