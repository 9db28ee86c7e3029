"""Some users of a graph, wherever they are held: those of all workers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import ALONE, World

Numbers = NDArray[np.int64]


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
