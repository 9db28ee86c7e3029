"""The matrices by which a layer passes messages along the edges of a graph: n x n for n users, sparse, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, symmetric_csr
from graphveil.graphs.part import GraphPart
from graphveil.linear.sparse import SparseMatrix, edges_of


def gcn_matrix(graph: Graph, *, loops: bool = True, device: torch.device | str = "cpu") -> SparseMatrix:
    """D^-1/2 (A + I) D^-1/2, D the degrees with the loop (Kipf and Welling 2017); without ``loops`` A alone.

    A user without neighbours has a row of zeros, but for the loop.
    """
    if not loops:
        return scaled_matrix(graph, 0.5, 0.5, device=device)
    scale = 1 / np.sqrt(1 + graph.weighted_degrees)
    if isinstance(graph, GraphPart):
        return _part_matrix(graph, scale, scale, np.ones(graph.node_count, dtype=bool))
    indptr, indices, weights = _with_loops(graph)
    values = np.repeat(scale, np.diff(indptr)) * scale[indices]
    values = values if weights is None else values * weights
    return SparseMatrix.from_csr(
        indptr, indices, values, (graph.node_count,) * 2, symmetric=True, device=device
    )


def mean_matrix(graph: Graph, *, device: torch.device | str = "cpu") -> SparseMatrix:
    """D^-1 A: the mean over the neighbours (GraphSAGE); zeros for a user without neighbours."""
    return scaled_matrix(graph, 1.0, 0.0, device=device)


def scaled_matrix(
    graph: Graph, left: float, right: float, *, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """D^-left A D^-right; zeros for a user without neighbours."""
    degree = graph.weighted_degrees

    def scale(power: float) -> np.ndarray:
        return np.power(degree, -power, out=np.zeros_like(degree), where=degree > 0)

    if isinstance(graph, GraphPart):
        rows = scale(left)
        return _part_matrix(graph, rows, rows if left == right else scale(right))
    values = np.repeat(scale(left), graph.degrees) * scale(right)[graph.indices]
    values = values if graph.weights is None else values * graph.weights
    shape = (graph.node_count,) * 2
    return SparseMatrix.from_csr(
        graph.indptr, graph.indices, values, shape, symmetric=left == right, device=device
    )


def pagerank_matrix(
    graph: Graph, r: float, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> SparseMatrix:
    """D^(r-1) A D^-r, by which LDP-GE spreads reports (Li et al. 2024); a user without neighbours has a loop of weight 1.

    For r within 0 and 1 it is D^(r-1/2) S D^(1/2-r) with S = D^-1/2 A D^-1/2 (1 at loops), so its eigenvalues are real and
    within -1 and 1. D^-r P D^r is the mean over the neighbours: its rows sum to one.
    """
    graph = graph.unweighted()
    if isinstance(graph, GraphPart):
        alone = graph.degrees == 0
        degree = np.maximum(graph.degrees, 1).astype(np.float64)
        rows = degree ** (r - 1)
        return _part_matrix(graph, rows, rows if r == 0.5 else degree**-r, alone)
    return _pagerank(graph.indptr, graph.indices, r, device, dtype)


def pagerank_edge_matrix(edge_index: Any, nodes: int, r: float) -> SparseMatrix:
    """The same from PyG's ``edge_index`` or sparse adjacency: an edge counts in both directions and once; self-loops are left out."""
    edges = edges_of(edge_index, nodes)
    if not edges.plain:
        raise InputError(
            "PageRank counts every edge alike: give an adjacency matrix without weights, or take KProp or HOA"
        )
    indptr, indices = symmetric_csr(np.stack([edges.source, edges.target], axis=1), nodes)
    return _pagerank(indptr, indices, r, edges.device, torch.float32)


def _pagerank(
    indptr: np.ndarray, indices: np.ndarray, r: float, device: torch.device | str, dtype: torch.dtype
) -> SparseMatrix:
    nodes = len(indptr) - 1
    alone = np.flatnonzero(np.diff(indptr) == 0)
    indices = np.insert(indices, indptr[alone], alone.astype(np.int32))
    indptr = indptr + np.searchsorted(alone, np.arange(nodes + 1))
    counts = np.diff(indptr)
    degree = counts.astype(np.float64)
    values = np.repeat(degree ** (r - 1), counts) * (degree**-r)[indices]
    return SparseMatrix.from_csr(
        indptr, indices, values, (nodes, nodes), symmetric=r == 0.5, device=device, dtype=dtype
    )


def weighted_mean_matrix(
    graph: Graph, weights: np.ndarray, *, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself: a mean in which users have weights (FlexProp).

    ``weights`` has a number of at least 0 for each of n users. Where all weights around a user are 0, the row is 0.
    """
    if isinstance(graph, GraphPart):
        around = weighted_sums(graph, weights)
        rows = 1 / np.where(around > 0, around, 1.0)
        everybody = np.ones(graph.node_count, dtype=bool)
        return _part_matrix(graph, rows, np.asarray(weights, dtype=np.float64), everybody)
    indptr, indices, edges = _with_loops(graph)
    values = np.asarray(weights, dtype=np.float64)[indices]
    values = values if edges is None else values * edges
    totals = np.add.reduceat(values, indptr[:-1]) if len(values) else values
    values = values / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(indptr))
    return SparseMatrix.from_csr(indptr, indices, values, (graph.node_count,) * 2, device=device)


def sum_matrix(graph: Graph, *, loops: bool = True, device: torch.device | str = "cpu") -> SparseMatrix:
    """A + I: the sum over the neighbours and oneself (GIN); without ``loops`` A alone."""
    if isinstance(graph, GraphPart):
        one = np.ones(graph.node_count)
        return _part_matrix(graph, one, one, one > 0 if loops else None)
    indptr, indices, weights = _with_loops(graph) if loops else (graph.indptr, graph.indices, graph.weights)
    values = np.ones(len(indices)) if weights is None else weights
    return SparseMatrix.from_csr(
        indptr, indices, values, (graph.node_count,) * 2, symmetric=True, device=device
    )


def _part_matrix(
    part: GraphPart, left: np.ndarray, right: np.ndarray, loops: np.ndarray | None = None
) -> SparseMatrix:
    """left_i · right_j along the links of a part and at some loops."""
    matrix: SparseMatrix = part.matrix(left, right, loops)
    return matrix


def weighted_sums(graph: GraphPart, weights: np.ndarray) -> np.ndarray:
    """The sum of the weights of each user's neighbours and of oneself."""
    one = np.ones(graph.node_count)
    matrix = _part_matrix(graph, one, one, one > 0)
    column = torch.from_numpy(np.asarray(weights, dtype=np.float64)[:, None])
    return matrix.multiply(column)[:, 0].numpy()


def edge_matrix(
    edge_index: Any, nodes: int, *, edge_weight: Tensor | None = None, loops: bool = False
) -> SparseMatrix:
    """D^-1/2 A D^-1/2 from PyG's ``edge_index`` or sparse adjacency (see `edges_of`), D the degrees of targets as PyG counts them,
    weights summed, without self-loops; with ``loops`` everybody has one, of weight 1.
    """
    edges = edges_of(edge_index, nodes, edge_weight)
    apart = edges.source != edges.target
    source, target, weights = edges.source[apart], edges.target[apart], edges.weights[apart]
    if loops:
        source, target = (np.concatenate([ends, np.arange(nodes)]) for ends in (source, target))
        weights = np.concatenate([weights, np.ones(nodes)])
    matrix = coo_array((weights, (target, source)), shape=(nodes, nodes)).tocsr()
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.power(degree, -0.5, out=np.zeros_like(degree), where=degree > 0)
    values = matrix.data * np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, values, (nodes, nodes), device=edges.device)


def weighted_mean_edge_matrix(
    edge_index: Any, node_weight: np.ndarray, edge_weight: Tensor | None = None
) -> SparseMatrix:
    """The same as `weighted_mean_matrix`, from PyG's ``edge_index`` or sparse adjacency (see `edges_of`)."""
    nodes = len(node_weight)
    edges = edges_of(edge_index, nodes, edge_weight)
    apart = edges.source != edges.target
    source, target = (
        np.concatenate([ends[apart], np.arange(nodes)]) for ends in (edges.source, edges.target)
    )
    values = np.concatenate([edges.weights[apart], np.ones(nodes)]) * node_weight[source]
    matrix = coo_array((values, (target, source)), shape=(nodes, nodes)).tocsr()
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    shares = matrix.data / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(matrix.indptr))
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, shares, (nodes, nodes), device=edges.device)


def _with_loops(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The edges with a loop at every user, still sorted, and their weights where they have any; a loop counts 1."""
    nodes = graph.node_count
    rows = np.repeat(np.arange(nodes), graph.degrees)
    # A loop goes behind the neighbours with a smaller number.
    place = graph.indptr[:-1] + np.bincount(rows, weights=graph.indices < rows, minlength=nodes).astype(
        np.int64
    )
    indices = np.insert(graph.indices, place, np.arange(nodes, dtype=np.int32))
    weights = None if graph.weights is None else np.insert(graph.weights, place, 1.0)
    return graph.indptr + np.arange(nodes + 1), indices, weights
