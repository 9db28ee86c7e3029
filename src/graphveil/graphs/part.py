"""GraphPart: what one of several workers holds of a graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.world import ALONE, World

Numbers = NDArray[np.int64]
# Rows of others that come in one trip, from all workers together, and the fewest of one worker: shorter messages only cost time.
ROWS_A_TRIP, ROWS_AT_LEAST = 1 << 15, 1 << 11


def nobody() -> Numbers:
    """The numbers of no users."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Row pointers, and the neighbours of all rows, ascending in each."""

    indptr: Numbers
    indices: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trip:
    """Links to those whose rows come in one trip, of which there are ``size``: for each user of the part who has any (``rows``), its
    neighbours by their places in the trip, where ``indptr`` says."""

    size: int
    rows: NDArray[np.int32]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]


class EdgeBlocks(Protocol):
    """Edges that stay on disk, some rows at a time."""

    def __iter__(self) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        """The first row of a block, the row after its last one, and the neighbours of all its rows, row after row."""


@dataclass(frozen=True, eq=False, repr=False)
class GraphPart(Graph):
    """Some users of a larger graph, with all their links: what one worker holds.

    Everything that `Graph` has for each user is there for these users alone, and users are numbered from 0 among them. Links
    lead to others too: ``near`` are neighbours among these users, and ``far`` those elsewhere, in the order in which their rows come:
    ``halo`` are their numbers in the whole graph, first those of the first trip; ``indices`` is empty. Parts follow each other: that of this
    worker has the numbers ``first``, ``first`` + 1, … of the whole, which has ``total`` users. ``original`` is what its users are numbered in the graph as it was
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
    far: tuple[Trip, ...] | None = None
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
    near, far, halo = split_links(indptr, targets, np.asarray(bounds, dtype=np.int64), rank)
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
    indptr: Numbers, targets: NDArray[np.integer], bounds: Numbers, rank: int
) -> tuple[Neighbours, tuple[Trip, ...], Numbers]:
    """Neighbours among the users of a part, neighbours elsewhere, and who those are.

    ``targets`` are the neighbours of all rows by their numbers in the whole, ascending in each row; ``bounds`` say where each worker's
    users begin, of whom those of ``rank`` are the part's own.
    """
    begin, end = int(bounds[rank]), int(bounds[rank + 1])
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
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr) - near_counts)
    halo = np.unique(elsewhere).astype(np.int64)
    order, cuts = trips_of(halo, bounds)
    place = np.empty(len(halo), dtype=np.int32)
    place[order] = np.arange(len(halo), dtype=np.int32)
    far = _trips(rows, place[np.searchsorted(halo, elsewhere)], cuts)
    return Neighbours(starts, near), far, halo[order]


def rows_of_one(workers: int) -> int:
    """How many rows come from one worker in a trip, at the most. Both sides of a pair know it, so that they divide its rows alike."""
    return max(ROWS_A_TRIP // max(workers - 1, 1), ROWS_AT_LEAST)


def trips_of(halo: Numbers, bounds: Numbers) -> tuple[Numbers, Numbers]:
    """The order in which rows of others come, and where each trip begins in it, and the last one ends.

    ``halo`` are the numbers of those others, ascending. In a trip come as many rows of each worker as `rows_of_one` says, worker by
    worker, as long as there are any.

    >>> trips_of(np.array([4, 5, 8, 9]), np.array([0, 4, 8, 12]))
    (array([0, 1, 2, 3]), array([0, 4]))
    """
    cuts = np.searchsorted(halo, bounds)
    within = np.arange(len(halo)) - np.repeat(cuts[:-1], np.diff(cuts))
    trips = within // rows_of_one(len(bounds) - 1)
    order = np.argsort(trips, kind="stable")
    return order, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(trips))])


def _trips(rows: NDArray[np.int32], places: NDArray[np.int32], cuts: Numbers) -> tuple[Trip, ...]:
    """Entries that are sorted by row, trip by trip."""
    trips = np.searchsorted(cuts, places, side="right") - 1
    order = np.argsort(trips, kind="stable")
    ends = np.concatenate(
        [np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(trips, minlength=len(cuts) - 1))]
    )
    found = []
    for trip, (begin, end) in enumerate(itertools.pairwise(ends)):
        chosen = order[begin:end]
        users, counts = np.unique(rows[chosen], return_counts=True)
        starts = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum(counts, dtype=np.int32)])
        size = int(cuts[trip + 1] - cuts[trip])
        found.append(Trip(size, users, starts, places[chosen] - np.int32(cuts[trip])))
    return tuple(found)
