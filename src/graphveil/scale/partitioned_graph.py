"""A part of a graph with its links, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, RowsOfEnds
from graphveil.graphs.part import GraphPart
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Adjacency, Block, renumbered
from graphveil.scale.partitioned_matrix import (
    DiskLinks,
    Floats,
    Neighbourhood,
    Neighbours,
    Numbers,
    OrderedMatrix,
    PartitionedMatrix,
    WorkerLinks,
)
from graphveil.scale.partitioners import assign


def nobody() -> Numbers:
    """The numbers of no users."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class GraphPartition(GraphPart):
    """A worker's part of a graph: consecutive users, with all their links.

    Parameters
    ----------
    bounds
        Where each worker's users begin in the whole, and where the last one's end.
    near, far, halo
        Neighbours among these users; the ascending numbers, in the whole, of those elsewhere; and whom each of those is linked to here.
    blocks
        The links where they stay on disk, in place of near and far.
    cache
        What was made of the links, which all matrices of a part share.
    """

    bounds: Numbers = field(default_factory=nobody)
    near: Neighbours | None = None
    far: Neighbours | None = None
    halo: Numbers = field(default_factory=nobody)
    blocks: Iterable[Block] | None = None
    cache: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.bounds) != self.collective.size + 1:
            raise InputError("a part must say where each worker's users begin")

    @property
    def on_disk(self) -> bool:
        return self.blocks is not None

    @property
    def link_arrays(self) -> tuple[NDArray[Any], ...]:
        if self.near is None or self.far is None:
            return ()
        return self.near.indices, self.far.indices, self.halo

    @property
    def link_source(self) -> WorkerLinks | DiskLinks:
        """The links, as products need them."""
        if self.blocks is not None:
            return DiskLinks(self.indptr, self.blocks)
        if "links" not in self.cache:
            self.cache["links"] = WorkerLinks(*self._in_memory)
        links: WorkerLinks = self.cache["links"]
        return links

    @property
    def neighbourhood(self) -> Neighbourhood:
        if "neighbourhood" not in self.cache:
            self.cache["neighbourhood"] = Neighbourhood(self.original, *self._in_memory)
        neighbourhood: Neighbourhood = self.cache["neighbourhood"]
        return neighbourhood

    @property
    def _in_memory(self) -> tuple[Any, ...]:
        if self.near is None or self.far is None:
            raise InputError("edges that stay on disk are not seen at once: load the graph into memory")
        return self.near, self.far, self.halo, self.bounds, self.collective

    def matrix(
        self, left: Floats, right: Floats, loops: NDArray[np.bool_] | None = None
    ) -> PartitionedMatrix:
        """Return left_i · right_j along the links.

        Parameters
        ----------
        left, right
            The scale of each row and of each column: (users,) float64.
        loops
            The users who have a loop: (users,) bool; None: nobody.
        """
        return PartitionedMatrix.of(self.link_source, left, right, loops)

    def ordered_gcn_matrix(self) -> OrderedMatrix:
        return OrderedMatrix.gcn(self.neighbourhood, self.weighted_degrees)

    def other_ends(self, users: Numbers) -> tuple[Numbers, RowsOfEnds]:
        if self.blocks is None:
            neighbourhood = self.neighbourhood
            links = neighbourhood.pattern[users]
            return np.diff(links.indptr).astype(np.int64), lambda rows: neighbourhood.gather(rows)[
                links.indices
            ]
        chosen = np.zeros(self.node_count, dtype=bool)
        chosen[users] = True
        ends = [found[np.repeat(chosen[a:b], self.degrees[a:b])] for a, b, found in self.blocks]
        others = np.concatenate([*ends, np.empty(0, dtype=np.int32)])
        return self.degrees[users], lambda rows: rows[others]


@dataclass(frozen=True, eq=False)
class Division:
    """Users in the order in which they are divided, where each worker's part begins, and the share of links that lead out of one."""

    order: Numbers
    bounds: Numbers
    cut: float


def divide_graph(graph: Graph, workers: int) -> Division:
    """Divide a graph among so many workers; the same graph is always divided in the same way."""
    if workers > graph.node_count:
        raise InputError(f"{workers} workers cannot share {graph.node_count} users: take fewer workers")
    of, _ = assign(Adjacency(graph.indptr, graph.indices), workers)
    order = np.argsort(of, kind="stable")
    bounds = np.searchsorted(of[order], np.arange(workers + 1))
    crossing = int((np.repeat(of, graph.degrees) != of[graph.indices]).sum())
    return Division(order, bounds.astype(np.int64), crossing / max(len(graph.indices), 1))


# What a part has of the whole graph, and of its users.
OF_GRAPH = (
    "name",
    "feature_count",
    "public_range",
    "binary",
    "class_count",
    "metric",
    "feature_names",
)
OF_USERS = ("labels", "train", "validation", "test")


def cut_part(graph: Graph, order: Numbers, bounds: Numbers, rank: int) -> dict[str, Any]:
    """Return a worker's part of a graph in memory, as the fields of `GraphPartition` without its collective.

    Parameters
    ----------
    graph
        The whole graph; neither weights, private links nor volunteers are supported.
    order
        The users in the order in which they are divided, (users,) int64.
    bounds
        Where each worker's part of ``order`` begins, and where the last one ends, (workers + 1,) int64.
    rank
        The worker.
    """
    if graph.weights is not None or graph.links is not None or graph.panel is not None:
        raise InputError(
            "graphs whose links are private or to be predicted, and volunteers, are not divided among workers: leave --workers out"
        )
    own = order[bounds[rank] : bounds[rank + 1]]
    place = np.empty(graph.node_count, dtype=np.int64)
    place[order] = np.arange(graph.node_count)
    indptr, targets = renumbered(graph.indptr, graph.indices, own, place)
    near, far, halo = split_links(indptr, targets, int(bounds[rank]), int(bounds[rank + 1]))
    return {
        **{name: getattr(graph, name) for name in OF_GRAPH},
        **{name: getattr(graph, name)[own] for name in OF_USERS},
        "indptr": indptr,
        "indices": np.empty(0, dtype=np.int32),
        "total": graph.node_count,
        "original": own.astype(np.int64),
        "halo": halo,
        "near": near,
        "far": far,
        "bounds": np.asarray(bounds, dtype=np.int64),
    }


def split_links(
    indptr: Numbers, targets: NDArray[np.integer], begin: int, end: int
) -> tuple[Neighbours, Neighbours, Numbers]:
    """Split the links of a part by whether the neighbour is in it.

    Return the neighbours among its users, the links of users elsewhere to its users, and the numbers of those
    users elsewhere.

    Parameters
    ----------
    indptr
        The row pointers of the part's users, (users + 1,) int64.
    targets
        The neighbours of all rows by their numbers in the whole, ascending in each row.
    begin, end
        The numbers of the part's users are begin..end-1.
    """
    inside = (targets >= begin) & (targets < end)
    # Counted row by row: a running count of all entries would take more than they do.
    counts = (
        np.add.reduceat(inside, indptr[:-1][indptr[:-1] < len(inside)], dtype=np.int64) if len(inside) else 0
    )
    near_counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    near_counts[indptr[:-1] < len(inside)] = counts
    near_counts[np.diff(indptr) == 0] = 0
    starts = row_pointers(near_counts)
    near = targets[inside].astype(np.int32, copy=False)
    near -= begin
    elsewhere = targets[~inside]
    rows = np.repeat(np.arange(len(near_counts), dtype=np.int32), np.diff(indptr) - near_counts)
    # Rows ascend, and stay so among those who are linked to the same one.
    rows = rows[np.argsort(elsewhere, kind="stable")]
    halo, degrees = np.unique(elsewhere, return_counts=True)
    ends = row_pointers(degrees)
    return Neighbours(starts, near), Neighbours(ends, rows), halo.astype(np.int64)
