import numpy as np
import pytest
import torch

from graphveil import SeededBits, mechanism
from graphveil.denoise import HOA, NFR, blocks, propagated_once
from graphveil.linear import SparseMatrix, gcn_matrix
from tests.learn.graphs import small_graph


def setting(name="multibit", features=40):
    graph, rows, _ = small_graph(features=features)
    built = mechanism(name, epsilon=2.0, dims=features, range=(0, 1))
    return gcn_matrix(graph, loops=False), built.randomize(rows, SeededBits(0)).estimate()


def as_dense(result):
    return result.to_dense() if isinstance(result, SparseMatrix) else result


@pytest.mark.parametrize("name", ["multibit", "laplace"])
@pytest.mark.parametrize(("threshold", "features"), [(3.0, 1), (30.0, 13), (0.0, 40), (30.0, 40)])
def test_blocks_give_what_the_whole_matrix_gives(name, threshold, features):
    matrix, estimate = setting(name, features)
    shrink = NFR(threshold)
    whole = torch.from_numpy(estimate.dense() - estimate.offset).float()
    expected = shrink(HOA(3).operator(matrix) @ whole)
    got = as_dense(propagated_once(estimate, HOA(3).operator(matrix), shrink))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-4)


def test_few_entries_are_kept_sparse_with_the_gradient_of_a_dense_result():
    matrix, estimate = setting()
    hops = HOA(2).operator(matrix)
    assert isinstance(propagated_once(estimate, hops, NFR(30.0)), SparseMatrix)
    assert isinstance(propagated_once(estimate, HOA(6).operator(matrix), NFR(0.0)), torch.Tensor)
    result = propagated_once(estimate, HOA(2).operator(matrix), NFR(20.0))
    assert isinstance(result, SparseMatrix)
    weight = torch.randn(40, 3, requires_grad=True)
    (result @ weight).square().sum().backward()
    other = weight.detach().clone().requires_grad_()
    (result.to_dense() @ other).square().sum().backward()
    torch.testing.assert_close(weight.grad, other.grad)


def test_a_block_is_a_small_part_of_the_whole(monkeypatch):
    matrix, estimate = setting(features=48)
    found = blocks.propagated_blocks(estimate, HOA(2).operator(matrix), "cpu")
    widths = [block.shape[1] for _, _, block in found]
    assert widths == [4] * 12
    assert np.prod(estimate.shape) >= 4 * 3 * widths[0] * estimate.shape[0]
