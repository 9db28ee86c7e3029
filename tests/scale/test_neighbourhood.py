"""Whom users are linked to, in one order however a graph is divided."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.linear.propagation import gcn_matrix
from graphveil.scale.partitioned_graph import GraphPartition, cut_part
from tests.collectives import parted


def spread(matrix, rows, hops=4):
    for _ in range(hops):
        rows = matrix.multiply(rows)
    return rows


@pytest.mark.parametrize(("size", "columns"), [(1, 4), (2, 1), (3, 7)])
def test_products_are_those_of_one_process_to_the_bit(graph, size, columns):
    dense = torch.randn(400, columns, generator=torch.Generator().manual_seed(1))
    whole = spread(gcn_matrix(graph), dense)

    def work(part):
        return part.original, spread(part.ordered_gcn_matrix(), dense[torch.from_numpy(part.original)])

    for numbers, found in parted(graph, size, work):
        assert torch.equal(found, whole[torch.from_numpy(numbers)])


def test_products_that_are_added_to_something_are_too(graph):
    dense, added = torch.randn(2, 400, 3, generator=torch.Generator().manual_seed(1)).unbind()
    matrix = gcn_matrix(graph)
    expected = matrix.multiply_add(dense, added, 0.3), matrix.add_product(dense, 0.5, 2.0, added.clone())

    def work(part):
        own = torch.from_numpy(part.original)
        ordered = part.ordered_gcn_matrix()
        rows = dense[own], added[own]
        return (
            own,
            ordered.multiply_add(*rows, 0.3),
            ordered.add_product(rows[0], 0.5, 2.0, rows[1].clone()),
            ordered.shape,
        )

    for own, first, second, shape in parted(graph, 2, work):
        assert torch.equal(first, expected[0][own]) and torch.equal(second, expected[1][own])
        assert shape == (len(own), len(own))


def test_a_gradient_travels_as_a_product_does(graph):
    dense = torch.randn(400, 2, generator=torch.Generator().manual_seed(1))
    # The matrix is symmetric: the gradient of the sum of its products with w is its product with w.
    weights = torch.randn(400, 2, generator=torch.Generator().manual_seed(2))
    expected = gcn_matrix(graph).multiply(weights)

    def work(part):
        own = torch.from_numpy(part.original)
        rows = dense[own].requires_grad_()
        (part.ordered_gcn_matrix() @ rows * weights[own]).sum().backward()
        return own, rows.grad

    for own, found in parted(graph, 2, work):
        assert torch.equal(found, expected[own])


def neighbours(graph, user):
    return graph.indices[graph.indptr[user] : graph.indptr[user + 1]].tolist()


def linked(graph):
    """The numbers of the neighbours of each of some users, by the user's own number."""
    numbers = getattr(graph, "original", np.arange(graph.node_count))
    users = np.flatnonzero(numbers % 7 == 0)
    counts, ends = graph.other_ends(users)
    found = np.split(ends(numbers), np.cumsum(counts)[:-1])
    return {int(numbers[user]): each.tolist() for user, each in zip(users, found, strict=True)}


@pytest.mark.parametrize("size", [1, 3])
def test_the_other_ends_of_links_come_in_order(graph, size):
    expected = {user: neighbours(graph, user) for user in range(0, 400, 7)}
    found = {}
    for each in (parted(graph, size, linked), [linked(graph)])[size == 1]:
        found |= each
    assert found == expected


class Blocks:
    """Edges some rows at a time, as from disk."""

    def __init__(self, indptr, indices):
        self.indptr, self.indices = indptr, indices

    def __iter__(self):
        for begin in range(0, len(self.indptr) - 1, 150):
            end = min(begin + 150, len(self.indptr) - 1)
            yield begin, end, self.indices[self.indptr[begin] : self.indptr[end]]


def on_disk(graph):
    part = GraphPartition(**cut_part(graph, np.arange(400), np.array([0, 400]), 0))
    return replace(part, near=None, far=None, blocks=Blocks(graph.indptr, graph.indices))


def test_links_that_stay_on_disk_have_the_same_ends_and_are_not_seen_at_once(graph):
    assert linked(on_disk(graph)) == linked(graph)
    with pytest.raises(InputError, match="load the graph into memory"):
        _ = on_disk(graph).neighbourhood


def test_a_part_is_not_dense_and_drops_no_edges(graph):
    def work(part):
        matrix = part.ordered_gcn_matrix()
        for refused in (matrix.to_dense, lambda: matrix.thinned(0.5)):
            with pytest.raises(InputError, match="worker holds a part"):
                refused()

    parted(graph, 2, work)
