"""The matrices by which a layer passes messages along the edges of a graph."""

from __future__ import annotations

import numpy as np
import torch

from graphveil.graphs.graph import Graph
from graphveil.learn.sparse import SparseMatrix


def gcn_matrix(graph: Graph, *, loops: bool = True, device: torch.device | str = "cpu") -> SparseMatrix:
    """D^-1/2 (A + I) D^-1/2, D the degrees with the loop (Kipf and Welling 2017); without ``loops`` A alone.

    A user without neighbours has a row of zeros, but for the loop.
    """
    indptr, indices = _with_loops(graph) if loops else (graph.indptr, graph.indices)
    degree = np.diff(indptr).astype(np.float64)
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    values = np.repeat(scale, np.diff(indptr)) * scale[indices]
    return SparseMatrix.from_csr(
        indptr, indices, values, (graph.node_count,) * 2, symmetric=True, device=device
    )


def mean_matrix(graph: Graph, *, device: torch.device | str = "cpu") -> SparseMatrix:
    """D^-1 A: the mean over the neighbours (GraphSAGE); zeros for a user without neighbours."""
    degree = graph.degrees.astype(np.float64)
    values = np.repeat(np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0), graph.degrees)
    return SparseMatrix.from_csr(graph.indptr, graph.indices, values, (graph.node_count,) * 2, device=device)


def _with_loops(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The edges with a loop at every user, still sorted."""
    nodes = graph.node_count
    rows = np.repeat(np.arange(nodes), graph.degrees)
    # A loop goes behind the neighbours with a smaller number.
    place = graph.indptr[:-1] + np.bincount(rows, weights=graph.indices < rows, minlength=nodes).astype(
        np.int64
    )
    indices = np.insert(graph.indices, place, np.arange(nodes, dtype=np.int32))
    return graph.indptr + np.arange(nodes + 1), indices
