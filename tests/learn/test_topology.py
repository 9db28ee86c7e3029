"""A graph as layers use it: every form by its definition, built when it is asked for, and once."""

import numpy as np
import pytest
import torch

from graphveil.learn import topology as module
from graphveil.learn.topology import Topology
from tests.learn.graphs import small_graph

FORMS = ["gcn", "unlooped", "sum", "mean", "looped_edges"]


@pytest.fixture
def graph():
    """60 users, of whom the last two have no neighbours."""
    return small_graph()[0]


@pytest.fixture
def adjacency(graph):
    """A by its definition: an entry for each neighbour of each user."""
    matrix = np.zeros((graph.node_count,) * 2)
    for user in range(graph.node_count):
        matrix[user, graph.indices[graph.indptr[user] : graph.indptr[user + 1]]] = 1.0
    assert (matrix == matrix.T).all() and not matrix.diagonal().any()
    return matrix


def as_array(matrix):
    """A sparse matrix as numbers, by what it makes of the identity."""
    return (matrix @ torch.eye(60)).numpy()


def both_sides(matrix):
    """D^-1/2 M D^-1/2 with the row sums of M; a row of nothing stays one."""
    roots = np.array([0.0 if total == 0 else total**-0.5 for total in matrix.sum(axis=1)])
    return roots[:, None] * matrix * roots


def test_every_form_is_the_matrix_of_its_definition(graph, adjacency):
    looped, counts = adjacency + np.eye(60), np.maximum(adjacency.sum(axis=1), 1)[:, None]
    expected = {
        "gcn": both_sides(looped),
        "unlooped": both_sides(adjacency),
        "sum": looped,
        "mean": adjacency / counts,
    }
    topology, last = Topology(graph), np.eye(60)[-1]
    for form, matrix in expected.items():
        found = as_array(getattr(topology, form))
        np.testing.assert_allclose(found, matrix, rtol=0 if form == "sum" else 1e-6)
        # The last user has no neighbours, and hears oneself or nobody.
        assert np.array_equal(found[-1], last if form in ("gcn", "sum") else 0 * last)


def test_looped_edges_are_all_directions_of_all_links_and_a_loop_each_where_the_device_is(graph, adjacency):
    found = list(map(tuple, Topology(graph).looped_edges.T.tolist()))
    assert len(found) == len(set(found))
    assert set(found) == set(map(tuple, np.argwhere(adjacency + np.eye(60)).tolist()))
    assert Topology(graph, "meta").looped_edges.device == torch.device("meta")


def test_a_form_is_built_once_and_when_it_is_asked_for(graph, monkeypatch):
    topology = Topology(graph)
    assert [form for form in FORMS if getattr(topology, form) is not getattr(topology, form)] == []
    for name in ("gcn_matrix", "sum_matrix", "mean_matrix"):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("built too early"))
    assert topology.graph is graph and topology.device == torch.device("cpu")
