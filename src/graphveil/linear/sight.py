"""Everybody whom the users of a graph are linked to, in one order, however the graph is divided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart
from graphveil.linear.halo import Halo
from graphveil.linear.sparse import SparseMatrix, csr_tensor


class Sight:
    """The users of a graph and all their neighbours, in the order of the numbers that the whole graph has them by.

    ``pattern`` has a row for each user that is here and a column for each that is seen, with a 1 for each link: n x s. Its rows are
    summed up in that order, so that a product is the same to the bit in one process and in parts. In a whole graph everybody
    is here, and s = n.
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.node_count
        self._halo: Halo | None = None
        self.exchanges = 0
        self.places: NDArray[np.int64] = np.arange(n)
        if not isinstance(graph, GraphPart):
            self.pattern = _ones(graph.indptr, graph.indices, n)
            return
        if graph.near is None or graph.far is None:
            raise InputError("edges that stay on disk are not seen at once: load the graph into memory")
        self._halo = Halo(graph)
        numbers = self._with_halo(torch.from_numpy(graph.original)).numpy()
        order = np.argsort(numbers, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._order, self.places = torch.from_numpy(order), place[:n]
        near = _ones(graph.near.indptr, place[graph.near.indices], len(order))
        far = _ones(graph.far.indptr, graph.far.indices, n).T.tocoo()
        columns = place[n + far.coords[1]]
        self.pattern = near + csr_array((far.data, (far.coords[0], columns)), shape=near.shape)
        self.pattern.sort_indices()

    def see(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of all who are seen (s x …), from those of the users who are here (n x …)."""
        if self._halo is None:
            return rows
        return self.seen(torch.from_numpy(np.ascontiguousarray(rows))).numpy()

    def seen(self, rows: Tensor) -> Tensor:
        """The same for tensors."""
        if self._halo is None:
            return rows
        self.exchanges += 1
        return self._with_halo(rows)[self._order]

    def _with_halo(self, rows: Tensor) -> Tensor:
        assert self._halo is not None
        return torch.cat([rows, self._halo.fetch(rows)])


def _ones(indptr: NDArray[np.int64], columns: NDArray[np.integer], seen: int) -> Any:
    """A 1 in these columns of each row."""
    return csr_array((np.ones(len(columns)), columns, indptr), shape=(len(indptr) - 1, seen))


def sight_of(graph: Graph) -> Sight:
    """Whom the users of a graph see; a part keeps it."""
    if not isinstance(graph, GraphPart):
        return Sight(graph)
    if "sight" not in graph.made:
        graph.made["sight"] = Sight(graph)
    sight: Sight = graph.made["sight"]
    return sight


def other_ends(
    graph: Graph, users: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Callable[[NDArray[Any]], NDArray[Any]]]:
    """The links of some users who are here: how many each has, and what gives the row of each link's other end, from a row for each
    user who is here."""
    if isinstance(graph, GraphPart) and graph.blocks is not None:
        chosen = np.zeros(graph.node_count, dtype=bool)
        chosen[users] = True
        kept = [
            ends[np.repeat(chosen[begin:end], graph.degrees[begin:end])] for begin, end, ends in graph.blocks
        ]
        others = np.concatenate([*kept, np.empty(0, dtype=np.int32)])
        return graph.degrees[users], lambda rows: rows[others]
    sight = sight_of(graph)
    links = sight.pattern[users]
    return np.diff(links.indptr).astype(np.int64), lambda rows: sight.see(rows)[links.indices]


class OrderedMatrix(SparseMatrix):
    """A worker's rows of a symmetric matrix over all users, each summed up in the order of users' numbers.

    `PartedMatrix` multiplies while rows travel, and rounds in another order than one process does. Where what comes out is sorted or
    compared, the last bit can decide who comes first, and here it is the same as in one process.
    """

    def __init__(self, rows: Tensor, sight: Sight) -> None:
        super().__init__(rows, rows)
        self._sight = sight

    @property
    def shape(self) -> tuple[int, int]:
        return self._forward.shape[0], self._forward.shape[0]

    @property
    def transposed(self) -> OrderedMatrix:
        """The matrix itself, which is symmetric."""
        return self

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        return super().multiply(self._sight.seen(dense), out)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        return super().multiply_add(self._sight.seen(dense), added, weight, out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return super().add_product(self._sight.seen(dense), weight, scale, out)

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges are not dropped where each worker holds a part of the graph")

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


def ordered_gcn(part: GraphPart) -> OrderedMatrix:
    """D^-1/2 (A + I) D^-1/2 of a part, as `gcn_matrix` has it in one process: D are the degrees with the loop."""
    sight = sight_of(part)
    n = part.node_count
    loops = csr_array((np.ones(n), sight.places, np.arange(n + 1)), shape=sight.pattern.shape)
    entries = csr_array(sight.pattern + loops)
    entries.sort_indices()
    scale = 1 / np.sqrt(1 + part.weighted_degrees)
    values = np.repeat(scale, np.diff(entries.indptr)) * sight.see(scale)[entries.indices]
    return OrderedMatrix(csr_tensor(entries.indptr, entries.indices, values, entries.shape), sight)
