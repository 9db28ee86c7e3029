"""Random walks of two graphs: how far they are apart, by hand and by dense powers."""

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, symmetric_csr
from reproduce.figures import walks
from reproduce.figures.walks import walk_distances, walk_matrix


def graph_of(pairs, nodes):
    """A graph of so many users with these links, and nothing else known."""
    indptr, indices = symmetric_csr(np.array(pairs, dtype=np.int64).reshape(-1, 2), nodes)
    nobody, unknown = np.zeros(nodes, dtype=bool), np.full(nodes, -1)
    return Graph("small", indptr, indices, 0, None, False, 2, unknown, nobody, nobody, nobody)


def random_graph(nodes, share, seed):
    first, second = np.triu_indices(nodes, 1)
    linked = np.random.default_rng(seed).random(len(first)) < share
    return graph_of(np.stack([first[linked], second[linked]], axis=1), nodes)


def dense_distances(first, second, hops):
    """The same from whole matrices and their powers."""
    powers = [np.eye(first.node_count), np.eye(first.node_count)]
    found = []
    for _ in range(hops):
        powers = [power @ dense_walks(graph) for power, graph in zip(powers, (first, second), strict=True)]
        found.append(np.sqrt(((powers[0] - powers[1]) ** 2).mean()))
    return found


def dense_walks(graph):
    matrix = np.zeros((graph.node_count, graph.node_count))
    for one, other in graph.pairs().tolist():
        matrix[one, other] = matrix[other, one] = 1.0
    matrix += np.diag(matrix.sum(axis=1) == 0)
    return matrix / matrix.sum(axis=1, keepdims=True)


def test_every_walk_goes_somewhere_and_who_has_no_neighbour_stays():
    matrix = walk_matrix(graph_of([[0, 1], [1, 2]], 4)).toarray()
    assert matrix.tolist() == [[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    # It follows weights.
    graph = graph_of([], 3).with_edges(np.array([[0, 1], [1, 2]]), np.array([1.0, 0.25]))
    assert walk_matrix(graph).toarray()[1].tolist() == [0.8, 0.0, 0.2]


def test_one_link_against_none_by_hand():
    # P swaps the two users, without the link they stay: all four entries differ by 1 after an odd number of steps.
    apart = walk_distances(graph_of([[0, 1]], 2), graph_of([], 2), 4)
    assert apart.tolist() == [1.0, 0.0, 1.0, 0.0]
    # A graph is at no distance from itself.
    graph = random_graph(40, 0.1, 0)
    assert walk_distances(graph, graph).tolist() == [0.0] * 4


@pytest.mark.parametrize("share", [0.02, 0.5], ids=["sparse", "dense"])
def test_blocks_of_any_size_give_what_whole_matrices_give(share, monkeypatch):
    first, second = random_graph(41, 0.05, 1), random_graph(41, share, 2)
    expected, failed = dense_distances(first, second, 4), []
    for block in (1, 7 * 41, 1 << 22):
        monkeypatch.setattr(walks, "BLOCK", block)
        if walk_distances(first, second, 4) != pytest.approx(expected, rel=1e-12):
            failed.append(block)
    assert not failed, failed


def test_walks_that_may_be_anywhere_have_the_same_chance_everywhere():
    graph, even = random_graph(41, 0.1, 1), np.full((41, 41), 1 / 41)
    powers = [np.linalg.matrix_power(dense_walks(graph), hop) for hop in (1, 2, 3)]
    expected = [np.sqrt(((power - even) ** 2).mean()) for power in powers]
    assert walk_distances(graph, None, 3) == pytest.approx(expected, rel=1e-12)


def test_no_block_is_as_large_as_the_whole(monkeypatch):
    nodes, sizes = 60, []
    monkeypatch.setattr(walks, "BLOCK", 5 * nodes)
    times = walks._times
    monkeypatch.setattr(walks, "_times", lambda rows, matrix: sizes.append(rows.size) or times(rows, matrix))
    walk_distances(random_graph(nodes, 0.05, 3), random_graph(nodes, 0.05, 4))
    assert max(sizes) == 5 * nodes


def test_graphs_of_different_users_are_refused():
    with pytest.raises(InputError, match="one graph has 3, the other 4"):
        walk_distances(graph_of([], 3), graph_of([], 4))
