"""What one of several workers holds of a graph, and groups of users wherever they are held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.world import ALONE, World

Numbers = NDArray[np.int64]


def nobody() -> Numbers:
    """The numbers of no users."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Row pointers, and the neighbours of all rows, ascending in each."""

    indptr: Numbers
    indices: NDArray[np.int32]


class EdgeBlocks(Protocol):
    """Edges that stay on disk, some rows at a time."""

    def __iter__(self) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        """The first row of a block, the row after its last one, and the neighbours of all its rows, row after row."""


@dataclass(frozen=True, eq=False, repr=False)
class GraphPart(Graph):
    """Some users of a larger graph, with all their links: what one worker holds.

    Everything that `Graph` has for each user is there for these users alone, and users are numbered from 0 among them. Links
    lead to others too: ``near`` are neighbours among these users, ``halo`` the numbers of those elsewhere in the whole graph, ascending, and
    ``far`` the users here whom each of those is linked to; ``indices`` is empty. Parts follow each other: that of this worker has the numbers ``first``,
    ``first`` + 1, … of the whole, which has ``total`` users. ``original`` is what its users are numbered in the graph as it was
    given: whatever is drawn or sorted for all users follows those numbers, so that it does not depend on how a graph is divided.
    ``bounds`` are where each worker's part begins, and where the last one ends.

    ``blocks`` are the edges where they stay on disk, instead of near and far. ``made`` is what others have made of the links, which
    all matrices of a part share.
    """

    world: World = ALONE
    total: int = 0
    original: Numbers = field(default_factory=nobody)
    halo: Numbers = field(default_factory=nobody)
    bounds: Numbers = field(default_factory=nobody)
    near: Neighbours | None = None
    far: Neighbours | None = None
    blocks: EdgeBlocks | None = None
    made: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multilabel:
            raise InputError(
                "users with several labels each are not learned in parts: choose one label with data.label, or run in one process"
            )
        if len(self.original) != self.node_count or len(self.bounds) != self.world.size + 1:
            raise InputError("a part must say what its users are numbered, and where each part begins")

    @property
    def first(self) -> int:
        """The number of the first of these users in the whole."""
        return int(self.bounds[self.world.rank])

    @property
    def total_count(self) -> int:
        return self.total

    @property
    def edge_count(self) -> int:
        """Half of the entries: a link within the part counts once, one that leads out of it one half, rounded."""
        return int(self.indptr[-1]) // 2

    def count(self, users: NDArray[np.bool_]) -> int:
        return int(self.world.sum(np.array([int(users.sum())]))[0])

    def everywhere(self, users: NDArray[Any], *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        numbers = self.original[users]
        order = np.argsort(self.world.gather(numbers), kind="stable")
        return tuple(self.world.gather(np.ascontiguousarray(array))[order] for array in arrays)

    def edge_list(self) -> NoReturn:
        raise InputError(f"this needs every edge in one place, and {_PARTED}")

    def pairs(self) -> NoReturn:
        raise InputError(f"this needs every pair of users in one place, and {_PARTED}")

    def with_edges(self, pairs: Any, weights: Any = None) -> NoReturn:
        raise InputError(f"edges cannot be changed here: {_PARTED}")


_PARTED = "each worker holds a part of the graph alone: run it in one process (leave --workers out)"


def cut_part(graph: Graph, order: Numbers, bounds: Numbers, rank: int) -> dict[str, Any]:
    """What worker ``rank`` is given of a graph in memory, by the names of `GraphPart`, but for its world.

    ``order`` lists the users as they are divided, and ``bounds`` say where each worker's part of that list begins.
    """
    if graph.weights is not None or graph.links is not None or graph.panel is not None:
        raise InputError(
            "graphs whose links are private or to be predicted, and volunteers, are not divided among workers: leave --workers out"
        )
    own = order[bounds[rank] : bounds[rank + 1]]
    place = np.empty(graph.node_count, dtype=np.int64)
    place[order] = np.arange(graph.node_count)
    counts = graph.degrees[own]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    at = np.repeat(graph.indptr[own] - indptr[:-1], counts) + np.arange(int(indptr[-1]))
    rows = np.repeat(np.arange(len(own)), counts)
    targets = place[graph.indices[at]]
    targets = targets[np.lexsort((targets, rows))]
    near, far, halo = split_links(indptr, targets, int(bounds[rank]), int(bounds[rank + 1]))
    return {
        "name": graph.name,
        "indptr": indptr,
        "indices": np.empty(0, dtype=np.int32),
        "feature_count": graph.feature_count,
        "public_range": graph.public_range,
        "binary": graph.binary,
        "class_count": graph.class_count,
        "labels": graph.labels[own],
        "train": graph.train[own],
        "validation": graph.validation[own],
        "test": graph.test[own],
        "metric": graph.metric,
        "feature_names": graph.feature_names,
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
    """Neighbours among the users of a part; whom of them those elsewhere are linked to; and who those are.

    ``targets`` are the neighbours of all rows by their numbers in the whole, ascending in each row; begin..end-1 are the part's own.
    """
    inside = (targets >= begin) & (targets < end)
    # Counted row by row: a running count of all entries would take more than they do.
    counts = (
        np.add.reduceat(inside, indptr[:-1][indptr[:-1] < len(inside)], dtype=np.int64) if len(inside) else 0
    )
    near_counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    near_counts[indptr[:-1] < len(inside)] = counts
    near_counts[np.diff(indptr) == 0] = 0
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(near_counts)])
    near = targets[inside].astype(np.int32, copy=False)
    near -= begin
    elsewhere = targets[~inside]
    rows = np.repeat(np.arange(len(near_counts), dtype=np.int32), np.diff(indptr) - near_counts)
    # Rows ascend, and stay so among those who are linked to the same one.
    rows = rows[np.argsort(elsewhere, kind="stable")]
    halo, degrees = np.unique(elsewhere, return_counts=True)
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(degrees)])
    return Neighbours(starts, near), Neighbours(ends, rows), halo.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Group:
    """Some users of a graph, in the order of the numbers that the whole graph has them by.

    ``users`` are those that are here, ``places`` where each of them stands in the group, and ``size`` counts those of all workers.
    What is drawn, sorted or fitted for a group is done for all of it by every worker: `rows` brings together what it needs.
    """

    users: Numbers
    places: Numbers
    size: int
    world: World = ALONE
    # How those of one worker after the other are put into the group's order; None where they stand so.
    order: Numbers | None = None

    @classmethod
    def alone(cls, users: Numbers) -> Group:
        """Users of a whole graph, by ascending numbers."""
        return cls(users, np.arange(len(users)), len(users))

    @classmethod
    def of(cls, graph: Graph, users: NDArray[Any]) -> Group:
        """The users of a mask, or of ascending numbers; every worker names its own."""
        own = np.flatnonzero(users) if users.dtype == np.bool_ else users
        if not isinstance(graph, GraphPart):
            return cls.alone(own)
        numbers = graph.original[own]
        everybody = graph.world.gather(numbers)
        order = np.argsort(everybody, kind="stable")
        places = np.searchsorted(everybody[order], numbers)
        return cls(own, places, len(order), graph.world, order)

    def rows(self, array: NDArray[Any]) -> NDArray[Any]:
        """The rows of the whole group, where ``array`` has one for each user that is here."""
        return self.together(array[self.users])

    def together(self, own: NDArray[Any]) -> NDArray[Any]:
        """The rows of the whole group, where ``own`` has those of its users that are here."""
        if self.order is None:
            return own
        return self.world.gather(np.ascontiguousarray(own))[self.order]


def mean_of_all(graph: Graph, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of a row a user, over the users of all workers."""
    if graph.world.size == 1:
        return np.asarray(rows.mean(axis=0))
    return np.asarray(graph.world.sum(rows.sum(axis=0)) / graph.total_count)
