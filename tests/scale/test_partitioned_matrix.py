"""Products of workers that hold a part of a graph each equal those of one process."""

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.graphs import load
from graphveil.graphs.part import GraphPart, Group
from graphveil.linear.propagation import (
    gcn_matrix,
    mean_matrix,
    pagerank_matrix,
    scaled_matrix,
    sum_matrix,
    weighted_mean_matrix,
)
from graphveil.linear.sparse import CsrMatrix, Polynomial, csr_tensor
from graphveil.scale import partitioned_matrix as module
from graphveil.scale.partitioned_graph import GraphPartition, cut_part
from graphveil.scale.partitioned_matrix import NearLinks, Neighbours
from tests.collectives import parted, together

COLUMNS = 3


def _weights(graph):
    numbers = graph.original if isinstance(graph, GraphPart) else np.arange(graph.node_count)
    return (numbers % 5).astype(np.float64)


MATRICES = {
    "gcn": gcn_matrix,
    "unlooped": lambda graph: gcn_matrix(graph, loops=False),
    "mean": mean_matrix,
    "sum": sum_matrix,
    "sum without loops": lambda graph: sum_matrix(graph, loops=False),
    "pagerank": lambda graph: pagerank_matrix(graph, 0.1),
    "pagerank, symmetric": lambda graph: pagerank_matrix(graph, 0.5),
    "code": lambda graph: scaled_matrix(graph, 1.5, 0.5),
    "weighted mean": lambda graph: weighted_mean_matrix(graph, _weights(graph)),
}


def factor(graph):
    return torch.randn(graph.node_count, COLUMNS, generator=torch.Generator().manual_seed(1))


def put_together(graph, pieces):
    whole = torch.empty(graph.node_count, COLUMNS)
    for numbers, rows in pieces:
        whole[torch.from_numpy(numbers)] = rows
    return whole


# One worker, and three of which each sends some users a round; a user a round is enough to see once.
@pytest.mark.parametrize(
    ("name", "size", "at_once"),
    [
        *((name, 1, None) for name in MATRICES),
        *((name, 3, 7) for name in MATRICES),
        ("gcn", 3, 1),
        ("gcn", 2, None),
    ],
)
def test_products_and_their_transposes_equal_those_of_one_process(graph, name, size, at_once, monkeypatch):
    if at_once is not None:
        monkeypatch.setattr(module, "USERS_A_ROUND", at_once)
    dense, make = factor(graph), MATRICES[name]

    def work(part):
        matrix, own = make(part), dense[torch.from_numpy(part.original)]
        return part.original, matrix.multiply(own), matrix.transposed.multiply(own)

    pieces = parted(graph, size, work)
    whole = make(graph)
    found = put_together(graph, [(numbers, rows) for numbers, rows, _ in pieces])
    torch.testing.assert_close(found, whole.multiply(dense), rtol=1e-5, atol=1e-5)
    turned = put_together(graph, [(numbers, rows) for numbers, _, rows in pieces])
    torch.testing.assert_close(turned, whole.transposed.multiply(dense), rtol=1e-5, atol=1e-5)


def test_sums_come_round_by_round_for_some_users_each(graph, monkeypatch):
    monkeypatch.setattr(module, "USERS_A_ROUND", 50)

    def work(part):
        links, ones = part.link_source, torch.ones(part.node_count, 1)
        out = torch.zeros_like(ones)
        states = [out.clone() for _ in links.add_remote(ones, out)]
        assert links.rounds == len(states) == 3
        for before, after in zip(states, [*states[1:], out], strict=True):
            changed = (after != before).nonzero()[:, 0]
            assert 0 < int(changed.max() - changed.min()) < 50
        links.multiply(ones, out)
        np.testing.assert_array_equal(out[:, 0].numpy(), part.degrees)

    # Workers with 134 users at the most make three rounds.
    parted(graph, 3, work)


def test_a_worker_with_one_user_makes_as_many_rounds_as_others(monkeypatch):
    monkeypatch.setattr(module, "USERS_A_ROUND", 2)
    # Everybody knows user 0, who is the first worker's only one.
    star, _ = load("town", users=160)
    star = star.with_edges(np.array([(0, other) for other in range(1, 160)]))
    order, bounds = np.arange(160), np.array([0, 1, 160])

    def work(collective):
        part = GraphPartition(**cut_part(star, order, bounds, collective.rank), collective=collective)
        product = sum_matrix(part, loops=False).multiply(torch.ones(part.node_count, 1))
        return part.link_source.rounds, product, collective.sent_bytes

    (first, alone, few), (second, others, one) = together(2, work)
    assert (first, second) == (80, 80)
    assert alone.tolist() == [[159.0]]
    assert others.unique().tolist() == [1.0]
    assert (few, one) == (4 * 159, 4)


@pytest.mark.parametrize("entries", [1, 50, 1 << 20], ids=["a user at a time", "some", "all at once"])
def test_products_of_some_rows_at_a_time_are_those_of_all_to_the_bit(graph, entries, monkeypatch):
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", entries)
    ones = NearLinks(Neighbours(graph.indptr, graph.indices), graph.node_count)
    whole = CsrMatrix(
        csr_tensor(graph.indptr, graph.indices, np.ones(len(graph.indices)), (graph.node_count,) * 2)
    )
    dense = factor(graph)
    out = torch.zeros_like(dense)
    ones.add_product(dense, out)
    expected = whole.multiply(dense)
    assert torch.equal(out, expected)
    for begin, end in ((0, 0.3), (0.3, 0.5), (0.5, 1)):
        ones.add_product(dense, out, begin, end)
    assert torch.equal(out, whole.multiply(dense, added=expected, scale=1.0))


def test_neighbours_are_in_memory_once(graph):
    held = Neighbours(graph.indptr, graph.indices.copy())
    ones = NearLinks(held, graph.node_count)
    dense = factor(graph)
    ones.add_product(dense, torch.zeros_like(dense))
    held.indices[:] = 0
    out = torch.zeros_like(dense)
    ones.add_product(dense, out)
    torch.testing.assert_close(out, torch.from_numpy(graph.degrees)[:, None] * dense[0])


def test_a_polynomial_and_its_gradient_equal_those_of_one_process(graph):
    dense, weights = factor(graph), torch.linspace(-1, 1, graph.node_count)[:, None]

    def gradient(matrix, rows, aims):
        rows = rows.clone().requires_grad_()
        ((Polynomial(matrix, [0.5, 0.0, 2.0]) @ rows) * aims).sum().backward()
        return rows.grad

    def work(part):
        own = torch.from_numpy(part.original)
        return part.original, gradient(mean_matrix(part), dense[own], weights[own])

    found = put_together(graph, parted(graph, 2, work))
    torch.testing.assert_close(found, gradient(mean_matrix(graph), dense, weights), rtol=1e-5, atol=1e-5)


def test_a_product_sends_a_row_for_each_neighbour_elsewhere_and_no_more(graph):
    def work(part):
        matrix = gcn_matrix(part)
        before = part.collective.sent_bytes
        matrix.multiply(torch.ones(part.node_count, COLUMNS))
        return part, part.collective.sent_bytes - before

    told = parted(graph, 3, work)
    pairs = graph.edge_list().T
    for part, sent in told:
        mine = np.isin(pairs, part.original)
        elsewhere = np.unique(pairs[~mine & mine[:, ::-1]])
        assert sent == 4 * COLUMNS * len(elsewhere) == 4 * COLUMNS * len(part.halo)


def test_rows_of_chosen_users_come_in_order_and_what_needs_every_edge_is_refused(graph):
    def work(part):
        assert part.total_count == graph.node_count
        assert part.count(part.train) == int(graph.train.sum())
        group = Group.of(part, part.validation)
        return group.rows(part.original), group.rows(part.labels)

    for numbers, labels in parted(graph, 3, work):
        np.testing.assert_array_equal(numbers, np.flatnonzero(graph.validation))
        np.testing.assert_array_equal(labels, graph.labels[graph.validation])

    def work(part):
        with pytest.raises(InputError, match="leave (--)?workers out"):
            part.pairs()
        with pytest.raises(InputError, match="leave (--)?workers out"):
            part.edge_list()
        with pytest.raises(InputError, match="part of this matrix"):
            gcn_matrix(part).to_dense()

    parted(graph, 2, work)
