"""The part of a graph that one of several workers holds, and groups of users wherever they are held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.graph import Graph

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class GraphPart(Graph):
    """Some users of a larger graph, with all their links: what one worker holds. `graphveil.scale` says how links are held.

    Everything that `Graph` has for each user is there for these users alone, numbered from 0; ``indices`` is empty, since links lead to
    users elsewhere too. ``total`` counts the users of the whole graph, and ``original`` is what these users are numbered in it: whatever
    is drawn or sorted for all users follows those numbers, so that it does not depend on how a graph is divided.
    """

    collective: Collective = SINGLE_PROCESS
    total: int = 0
    original: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multilabel:
            raise InputError(
                "users with several labels each are not learned in parts: choose one label with data.label, or run in one process"
            )
        if len(self.original) != self.node_count:
            raise InputError("a part must say what its users are numbered in the whole graph")

    @property
    def on_disk(self) -> bool:
        """Whether links stay on disk and are read for each product."""
        raise NotImplementedError

    @property
    def link_arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays of links that are in memory."""
        raise NotImplementedError

    @property
    def neighbourhood(self) -> Any:
        """Users here and all their neighbours (`graphveil.scale.partitioned_matrix.Neighbourhood`)."""
        raise NotImplementedError

    def matrix(self, left: Floats, right: Floats, loops: NDArray[np.bool_] | None = None) -> Any:
        """Return left_i · right_j along the links, as a `SparseMatrix`.

        Parameters
        ----------
        left, right
            A number for each user.
        loops
            The users who have an entry on the diagonal, too; none by default.
        """
        raise NotImplementedError

    def ordered_gcn_matrix(self) -> Any:
        """D^-1/2 (A + I) D^-1/2, whose products are the same to the bit as in one process."""
        raise NotImplementedError

    @property
    def total_count(self) -> int:
        return self.total

    @property
    def edge_count(self) -> int:
        """Half of the entries: a link within the part counts once, one that leads out of it one half, rounded."""
        return int(self.indptr[-1]) // 2

    def count(self, users: NDArray[np.bool_]) -> int:
        return int(self.collective.sum(np.array([int(users.sum())]))[0])

    def edge_list(self) -> NoReturn:
        raise InputError(f"this needs every edge in one place, and {_PARTED}")

    def pairs(self) -> NoReturn:
        raise InputError(f"this needs every pair of users in one place, and {_PARTED}")

    def with_edges(self, pairs: Any, weights: Any = None) -> NoReturn:
        raise InputError(f"edges cannot be changed here: {_PARTED}")


_PARTED = "each worker holds a part of the graph alone: run it in one process (leave --workers out)"


@dataclass(frozen=True, eq=False)
class Group:
    """Some users of a graph, in the order of the numbers that the whole graph has them by.

    ``users`` are those that are here, ``places`` where each of them stands in the group, and ``size`` counts those of all workers.
    What is drawn, sorted or fitted for a group is done for all of it by every worker: `rows` brings together what it needs.
    """

    users: Numbers
    places: Numbers
    size: int
    collective: Collective = SINGLE_PROCESS
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
        everybody = graph.collective.gather(numbers)
        order = np.argsort(everybody, kind="stable")
        places = np.searchsorted(everybody[order], numbers)
        return cls(own, places, len(order), graph.collective, order)

    def rows(self, array: NDArray[Any]) -> NDArray[Any]:
        """The rows of the whole group, where ``array`` has one for each user that is here."""
        return self.together(array[self.users])

    def together(self, own: NDArray[Any]) -> NDArray[Any]:
        """The rows of the whole group, where ``own`` has those of its users that are here."""
        if self.order is None:
            return own
        return self.collective.gather(np.ascontiguousarray(own))[self.order]


def mean_of_all(graph: Graph, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of a row a user, over the users of all workers."""
    if graph.collective.size == 1:
        return np.asarray(rows.mean(axis=0))
    return np.asarray(graph.collective.sum(rows.sum(axis=0)) / graph.total_count)
