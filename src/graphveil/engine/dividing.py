"""How a graph in memory is divided among workers: as many users each, and few links from one part to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.shards.edges import Adjacency
from graphveil.graphs.shards.partition import assign

Numbers = NDArray[np.int64]


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
    rows = np.repeat(of, graph.degrees)
    crossing = int((rows != of[graph.indices]).sum())
    return Division(order, bounds.astype(np.int64), crossing / max(len(graph.indices), 1))
