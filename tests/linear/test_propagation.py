import numpy as np
import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from graphveil.graphs.splits import Split
from graphveil.linear.propagation import edge_matrix, gcn_matrix, mean_matrix, scaled_matrix, sum_matrix
from tests.learn.graphs import as_graph, small_graph


def path_graph():
    """0 - 1 - 2, and 3 alone."""
    masks = np.eye(4, dtype=bool)
    labels = np.array([0, 1, 0, 1])
    return as_graph([[0, 1], [1, 2]], labels, 1, Split(masks[0], masks[1], masks[2]))


def test_gcn_matrix_by_hand():
    half, other, third = 1 / 2, 1 / np.sqrt(6), 1 / 3
    expected = [[half, other, 0, 0], [other, third, other, 0], [0, other, half, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(gcn_matrix(path_graph()).to_dense().numpy(), expected, rtol=1e-6)


def test_gcn_matrix_without_loops_by_hand():
    root = 1 / np.sqrt(2)
    expected = [[0, root, 0, 0], [root, 0, root, 0], [0, root, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(gcn_matrix(path_graph(), loops=False).to_dense().numpy(), expected, rtol=1e-6)


def test_mean_matrix_by_hand():
    expected = [[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(mean_matrix(path_graph()).to_dense().numpy(), expected)


def test_gcn_matrix_equals_pyg_s():
    graph, _, _ = small_graph()
    edges, weights = gcn_norm(torch.from_numpy(graph.edge_list()), num_nodes=graph.node_count)
    dense = torch.zeros(graph.node_count, graph.node_count)
    dense[edges[1], edges[0]] = weights
    torch.testing.assert_close(gcn_matrix(graph).to_dense(), dense)


def test_scaled_matrix_by_hand():
    expected = np.zeros((4, 4))
    expected[0, 1], expected[1, 0], expected[1, 2], expected[2, 1] = 2**-0.5, 2**-1.5, 2**-1.5, 2**-0.5
    np.testing.assert_allclose(scaled_matrix(path_graph(), 1.5, 0.5).to_dense().numpy(), expected, rtol=1e-6)


def test_sum_matrix_by_hand():
    expected = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(sum_matrix(path_graph()).to_dense().numpy(), expected)
    np.testing.assert_array_equal(
        sum_matrix(path_graph(), loops=False).to_dense().numpy(), np.array(expected) - np.eye(4)
    )


def test_edge_matrix_equals_pyg_s_without_loops():
    graph, _, _ = small_graph()
    edges = torch.from_numpy(graph.edge_list())
    with_loop = torch.cat([edges, torch.tensor([[3], [3]])], dim=1)
    matrix = edge_matrix(with_loop, graph.node_count).to_dense()
    torch.testing.assert_close(matrix, gcn_matrix(graph, loops=False).to_dense())
    torch.testing.assert_close(matrix[:4, :4].diagonal(), torch.zeros(4))


def test_edge_matrix_with_loops_equals_a_gcn_s():
    graph, _, _ = small_graph()
    edges = torch.from_numpy(graph.edge_list())
    with_loop = torch.cat([edges, torch.tensor([[3], [3]])], dim=1)
    matrix = edge_matrix(with_loop, graph.node_count, loops=True).to_dense()
    torch.testing.assert_close(matrix, gcn_matrix(graph).to_dense())


def test_edge_matrix_passes_from_source_to_target():
    one_way = edge_matrix(torch.tensor([[0], [1]]), 2)
    # The source has no incoming edge, so its degree and with it the weight is 0, as in PyG.
    assert one_way.to_dense().tolist() == [[0, 0], [0, 0]]
    both = edge_matrix(torch.tensor([[0, 1, 2], [1, 0, 1]]), 3)
    assert both.to_dense()[1, 0] == pytest.approx(2**-0.5) and both.to_dense()[1, 2] == 0
