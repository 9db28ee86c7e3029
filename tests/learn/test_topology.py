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


def test_gcn_has_a_loop_at_every_user(graph, adjacency):
    expected = both_sides(adjacency + np.eye(60))
    np.testing.assert_allclose(as_array(Topology(graph).gcn), expected, rtol=1e-6)


def test_unlooped_leaves_users_themselves_out(graph, adjacency):
    expected = both_sides(adjacency)
    np.testing.assert_allclose(as_array(Topology(graph).unlooped), expected, rtol=1e-6)


def test_sum_adds_neighbours_and_oneself(graph, adjacency):
    np.testing.assert_array_equal(as_array(Topology(graph).sum), adjacency + np.eye(60))


def test_mean_averages_over_neighbours(graph, adjacency):
    expected = adjacency / np.maximum(adjacency.sum(axis=1), 1)[:, None]
    np.testing.assert_allclose(as_array(Topology(graph).mean), expected, rtol=1e-6)


def test_a_user_without_neighbours_hears_oneself_or_nobody(graph):
    last = np.eye(60)[-1]
    expected = {"gcn": last, "unlooped": 0 * last, "sum": last, "mean": 0 * last}
    found = {form: as_array(getattr(Topology(graph), form))[-1] for form in expected}
    assert [form for form in expected if not np.array_equal(found[form], expected[form])] == []


def test_looped_edges_are_all_directions_of_all_links_and_a_loop_each(graph, adjacency):
    found = list(map(tuple, Topology(graph).looped_edges.T.tolist()))
    assert len(found) == len(set(found))
    assert set(found) == set(map(tuple, np.argwhere(adjacency + np.eye(60)).tolist()))


def test_a_form_is_built_once(graph):
    topology = Topology(graph)
    assert [form for form in FORMS if getattr(topology, form) is not getattr(topology, form)] == []


def test_nothing_is_built_before_it_is_asked_for(graph, monkeypatch):
    for name in ("gcn_matrix", "sum_matrix", "mean_matrix"):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("built too early"))
    topology = Topology(graph)
    assert topology.graph is graph and topology.device == torch.device("cpu")


def test_edges_are_where_the_device_is(graph):
    assert Topology(graph, "meta").looped_edges.device == torch.device("meta")
