"""Some users of a graph, wherever they are held."""

import numpy as np
import pytest

from graphveil.graphs import load
from graphveil.graphs.part import Group, mean_of_all
from tests.collectives import parted


@pytest.fixture(scope="module")
def graph():
    return load("town", users=200)[0]


def test_of_a_whole_graph_a_group_is_its_users(graph):
    group = Group.of(graph, graph.validation)
    assert group.users.tolist() == np.flatnonzero(graph.validation).tolist()
    assert group.places.tolist() == list(range(group.size))
    assert group.rows(np.arange(graph.node_count)).tolist() == group.users.tolist()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_worker_sees_the_group_in_the_order_of_the_whole(graph, size):
    def work(part):
        group = Group.of(part, part.validation)
        return group.size, group.rows(part.original), group.places, part.original[group.users]

    expected = np.flatnonzero(graph.validation)
    for count, everybody, places, own in parted(graph, size, work):
        assert count == len(expected)
        assert everybody.tolist() == expected.tolist()
        assert expected[places].tolist() == own.tolist()


def test_users_may_be_named_by_number_and_a_worker_may_have_nobody_of_a_group(graph):
    def work(part):
        first = np.flatnonzero(part.original < 10)
        return Group.of(part, first).rows(part.original)

    assert all(each.tolist() == list(range(10)) for each in parted(graph, 2, work))

    def work(part):
        group = Group.of(part, part.original == 5)
        return len(group.users), group.rows(np.column_stack([part.original, -part.original]))

    found = parted(graph, 3, work)
    assert sorted(count for count, _ in found) == [0, 0, 1]
    assert all(rows.tolist() == [[5, -5]] for _, rows in found)


def test_a_mean_is_that_of_everybody(graph):
    def work(part):
        return mean_of_all(part, np.column_stack([part.original, np.ones(part.node_count)]))

    for found in (
        *parted(graph, 3, work),
        mean_of_all(graph, np.column_stack([np.arange(200), np.ones(200)])),
    ):
        assert found.tolist() == pytest.approx([99.5, 1.0])
