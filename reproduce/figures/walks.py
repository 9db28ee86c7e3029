"""How far the random walks of two graphs are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph

HOPS = 4
# Entries of a dense block of rows: 32 MB each, of which a few are held at a time.
BLOCK = 1 << 22
# A matrix with more than this share of entries is multiplied as a dense one, a block at a time: measured, it is faster.
DENSE = 0.08

Floats = NDArray[np.float64]


def walk_matrix(graph: Graph) -> Any:
    """P = D^-1 A as a sparse matrix: where a random walk is after one step. A walk that has no neighbour stays.

    So every row sums to one. With empty rows instead, a published graph would come closer to the true one by having no links:
    where it says nothing, an entry could never be wrong by more than the true one.
    """
    nodes, degrees = graph.node_count, graph.weighted_degrees
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    alone = np.flatnonzero(degrees == 0)
    rows = np.repeat(np.arange(nodes), graph.degrees)
    steps = weights / np.where(degrees > 0, degrees, 1.0)[rows]
    return csr_array(
        (
            np.concatenate([steps, np.ones(len(alone))]),
            (np.concatenate([rows, alone]), np.concatenate([graph.indices, alone])),
        ),
        shape=(nodes, nodes),
    )


def walk_distances(first: Graph, second: Graph | None, hops: int = HOPS) -> Floats:
    """‖P^k - P̃^k‖_F / n for k = 1..hops: the root mean square difference of where walks of k steps are (see `walk_matrix`).

    Over all hops together the root mean square is that of these numbers. Without a second graph its walks may be anywhere, with
    the same chance 1/n: what somebody would say who knows nothing. Rows are taken in blocks, so memory grows with the number of
    links and never with n².
    """
    nodes = first.node_count
    if second is not None and second.node_count != nodes:
        raise InputError(
            f"walks are compared on the same users: one graph has {nodes}, the other {second.node_count}"
        )
    matrices = [walk_matrix(graph) for graph in (first, second) if graph is not None]
    squares, size = np.zeros(hops), max(1, BLOCK // max(nodes, 1))
    for start in range(0, nodes, size):
        reached = [matrix[start : start + size].toarray() for matrix in matrices]
        for hop in range(hops):
            if hop:
                reached = [_times(rows, matrix) for rows, matrix in zip(reached, matrices, strict=True)]
            apart = reached[0] - (reached[1] if second is not None else 1 / nodes)
            squares[hop] += float(np.vdot(apart, apart))
    return np.asarray(np.sqrt(squares) / max(nodes, 1))


def _times(rows: Floats, matrix: Any) -> Floats:
    """Some dense rows times a sparse matrix; one that is not sparse is taken in dense blocks of its own rows."""
    nodes = matrix.shape[0]
    if matrix.nnz <= DENSE * nodes**2:
        return np.asarray(rows @ matrix)
    product, size = np.zeros_like(rows), max(1, BLOCK // nodes)
    for start in range(0, nodes, size):
        product += rows[:, start : start + size] @ matrix[start : start + size].toarray()
    return product
