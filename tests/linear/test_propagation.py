from functools import partial

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


HALF, ROOT, OTHER, THIRD = 1 / 2, 1 / np.sqrt(2), 1 / np.sqrt(6), 1 / 3
LOW, HIGH = 2**-1.5, 2**-0.5


@pytest.mark.parametrize(
    ("build", "expected", "tolerance"),
    [
        (
            gcn_matrix,
            [[HALF, OTHER, 0, 0], [OTHER, THIRD, OTHER, 0], [0, OTHER, HALF, 0], [0, 0, 0, 1]],
            1e-6,
        ),
        (
            partial(gcn_matrix, loops=False),
            [[0, ROOT, 0, 0], [ROOT, 0, ROOT, 0], [0, ROOT, 0, 0], [0] * 4],
            1e-6,
        ),
        (mean_matrix, [[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 1, 0, 0], [0] * 4], 0),
        (
            partial(scaled_matrix, left=1.5, right=0.5),
            [[0, HIGH, 0, 0], [LOW, 0, LOW, 0], [0, HIGH, 0, 0], [0] * 4],
            1e-6,
        ),
        (sum_matrix, [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], 0),
        (partial(sum_matrix, loops=False), [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0] * 4], 0),
    ],
)
def test_matrices_by_hand(build, expected, tolerance):
    np.testing.assert_allclose(build(path_graph()).to_dense().numpy(), expected, rtol=tolerance)


def test_gcn_matrix_equals_pyg_s():
    graph, _, _ = small_graph()
    edges, weights = gcn_norm(torch.from_numpy(graph.edge_list()), num_nodes=graph.node_count)
    dense = torch.zeros(graph.node_count, graph.node_count)
    dense[edges[1], edges[0]] = weights
    torch.testing.assert_close(gcn_matrix(graph).to_dense(), dense)


@pytest.mark.parametrize("loops", [False, True])
def test_edge_matrix_equals_a_gcn_s(loops):
    graph = small_graph()[0]
    edges = torch.from_numpy(graph.edge_list())
    with_loop = torch.cat([edges, torch.tensor([[3], [3]])], dim=1)
    matrix = edge_matrix(with_loop, graph.node_count, loops=loops).to_dense()
    torch.testing.assert_close(matrix, gcn_matrix(graph, loops=loops).to_dense())
    assert loops or not matrix[:4, :4].diagonal().any()


def test_edge_matrix_passes_from_source_to_target():
    one_way = edge_matrix(torch.tensor([[0], [1]]), 2)
    # The source has no incoming edge, so its degree and with it the weight is 0, as in PyG.
    assert one_way.to_dense().tolist() == [[0, 0], [0, 0]]
    both = edge_matrix(torch.tensor([[0, 1, 2], [1, 0, 1]]), 3)
    assert both.to_dense()[1, 0] == pytest.approx(2**-0.5) and both.to_dense()[1, 2] == 0
