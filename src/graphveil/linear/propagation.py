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
from graphveil.linear.sparse import Device, Edges, SparseMatrix, edges_of


def gcn_matrix(graph: Graph, *, loops: bool = True, device: Device = "cpu") -> SparseMatrix:
    """Return D^-1/2 (A + I) D^-1/2, D the degrees with the loop (Kipf and Welling 2017).

    A user without neighbours has a row of zeros, but for the loop.

    Parameters
    ----------
    loops
        Whether I is added; else it is A alone.
    device
        The device of the matrix.
    """
    if not loops:
        return scaled_matrix(graph, 0.5, 0.5, device=device)
    scale = 1 / np.sqrt(1 + graph.weighted_degrees)
    return _graph_matrix(graph, scale, scale, scale > 0, device)


def mean_matrix(graph: Graph, *, device: Device = "cpu") -> SparseMatrix:
    """D^-1 A: the mean over the neighbours (GraphSAGE); zeros for a user without neighbours."""
    return scaled_matrix(graph, 1.0, 0.0, device=device)


def scaled_matrix(graph: Graph, left: float, right: float, *, device: Device = "cpu") -> SparseMatrix:
    """Return D^-left A D^-right; zeros for a user without neighbours.

    Parameters
    ----------
    left, right
        The powers of the degrees.
    device
        The device of the matrix.
    """
    degree = graph.weighted_degrees

    def scale(power: float) -> np.ndarray:
        return np.power(degree, -power, out=np.zeros_like(degree), where=degree > 0)

    rows = scale(left)
    return _graph_matrix(graph, rows, rows if left == right else scale(right), None, device)


def sum_matrix(graph: Graph, *, loops: bool = True, device: Device = "cpu") -> SparseMatrix:
    """Return A + I: the sum over the neighbours and oneself (GIN).

    Parameters
    ----------
    loops
        Whether I is added; else it is A alone.
    device
        The device of the matrix.
    """
    one = np.ones(graph.node_count)
    return _graph_matrix(graph, one, one, one > 0 if loops else None, device)


def pagerank_matrix(
    graph: Graph, r: float, *, device: Device = "cpu", dtype: torch.dtype = torch.float32
) -> SparseMatrix:
    """Return D^(r-1) A D^-r, by which LDP-GE spreads reports (Li et al. 2024).

    A user without neighbours has a loop of weight 1. For r within 0 and 1 it is D^(r-1/2) S D^(1/2-r) with S
    = D^-1/2 A D^-1/2 (1 at loops), so its eigenvalues are real and within -1 and 1. D^-r P D^r is the mean
    over the neighbours: its rows sum to one.

    Parameters
    ----------
    r
        The exponent of the degrees.
    device, dtype
        Those of the matrix.
    """
    graph = graph.unweighted()
    rows, columns, alone = _pagerank_scales(graph.degrees, r)
    return _graph_matrix(graph, rows, columns, alone, device, dtype)


def pagerank_edge_matrix(edge_index: Any, nodes: int, r: float) -> SparseMatrix:
    """Return the same as `pagerank_matrix`, from PyG's ``edge_index`` or sparse adjacency.

    Parameters
    ----------
    edge_index
        The edges: see `edges_of`. Each counts in both directions and once; self-loops are left out.
    nodes
        The number of nodes.
    r
        The exponent of the degrees.
    """
    edges = edges_of(edge_index, nodes)
    if not edges.plain:
        raise InputError("PageRank takes no weights of edges: leave them out, or take KProp or HOA")
    indptr, indices = symmetric_csr(np.stack([edges.source, edges.target], axis=1), nodes)
    return _scaled_csr(indptr, indices, None, *_pagerank_scales(np.diff(indptr), r), edges.device)


def _pagerank_scales(degrees: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The factors of rows and columns, and who has a loop: those without neighbours."""
    degree = np.maximum(degrees, 1).astype(np.float64)
    rows = degree ** (r - 1)
    return rows, rows if r == 0.5 else degree**-r, degrees == 0


def weighted_mean_matrix(graph: Graph, weights: np.ndarray, *, device: Device = "cpu") -> SparseMatrix:
    """Return Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself: a weighted mean (FlexProp).

    Where all weights around a user are 0, the row is 0.

    Parameters
    ----------
    weights
        The weight of each user, at least 0: (users,).
    device
        The device of the matrix.
    """
    weights, everybody = np.asarray(weights, dtype=np.float64), np.ones(graph.node_count, dtype=bool)
    if isinstance(graph, GraphPart):
        around = sum_matrix(graph).multiply(torch.from_numpy(weights[:, None]))[:, 0].numpy()
        return _graph_matrix(graph, 1 / np.where(around > 0, around, 1.0), weights, everybody, device)
    indptr, indices, edges = _with_loops(graph.indptr, graph.indices, graph.weights, everybody)
    values = weights[indices] if edges is None else weights[indices] * edges
    totals = np.add.reduceat(values, indptr[:-1]) if len(values) else values
    values = values / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(indptr))
    return SparseMatrix.from_csr(indptr, indices, values, (graph.node_count,) * 2, device=device)


def _graph_matrix(
    graph: Graph,
    left: np.ndarray,
    right: np.ndarray,
    loops: np.ndarray | None,
    device: Device,
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """left_i · right_j along the links of a graph, or of a part of one, and at the loops of those who are marked."""
    if isinstance(graph, GraphPart):
        matrix: SparseMatrix = graph.matrix(left, right, loops)
        return matrix
    return _scaled_csr(graph.indptr, graph.indices, graph.weights, left, right, loops, device, dtype)


def _scaled_csr(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray | None,
    left: np.ndarray,
    right: np.ndarray,
    loops: np.ndarray | None,
    device: Device,
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The same along entries in CSR form, times their weights where they have any. It is symmetric where left is right."""
    if loops is not None:
        indptr, indices, weights = _with_loops(indptr, indices, weights, loops)
    values = np.repeat(left, np.diff(indptr)) * right[indices]
    values = values if weights is None else values * weights
    symmetric, shape = left is right, (len(left),) * 2
    return SparseMatrix.from_csr(
        indptr, indices, values, shape, symmetric=symmetric, device=device, dtype=dtype
    )


def _with_loops(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None, loops: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The entries with a loop at everybody who is marked, still sorted, and their weights; a loop counts 1."""
    rows, users = np.repeat(np.arange(len(loops)), np.diff(indptr)), np.flatnonzero(loops)
    # A loop goes behind the neighbours with a smaller number.
    before = np.bincount(rows, weights=indices < rows, minlength=len(loops)).astype(np.int64)
    place = (indptr[:-1] + before)[users]
    weights = None if weights is None else np.insert(weights, place, 1.0)
    return indptr + np.append(0, np.cumsum(loops)), np.insert(indices, place, users.astype(np.int32)), weights


def edge_matrix(
    edge_index: Any, nodes: int, *, edge_weight: Tensor | None = None, loops: bool = False
) -> SparseMatrix:
    """Return D^-1/2 A D^-1/2 from PyG's ``edge_index`` or sparse adjacency.

    D are the degrees of targets as PyG counts them, weights summed.

    Parameters
    ----------
    edge_index
        The edges: see `edges_of`. Self-loops are left out.
    nodes
        The number of nodes.
    edge_weight
        A weight for each edge.
    loops
        Whether every node gets a loop of weight 1.
    """
    edges = _apart(edges_of(edge_index, nodes, edge_weight), nodes if loops else 0)
    matrix = coo_array((edges.weights, (edges.target, edges.source)), shape=(nodes, nodes)).tocsr()
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.power(degree, -0.5, out=np.zeros_like(degree), where=degree > 0)
    values = matrix.data * np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, values, (nodes, nodes), device=edges.device)


def weighted_mean_edge_matrix(
    edge_index: Any, node_weight: np.ndarray, edge_weight: Tensor | None = None
) -> SparseMatrix:
    """Return the same as `weighted_mean_matrix`, from PyG's ``edge_index`` or sparse adjacency.

    Parameters
    ----------
    edge_index
        The edges: see `edges_of`.
    node_weight
        The weight of each node: (nodes,).
    edge_weight
        A weight for each edge.
    """
    nodes = len(node_weight)
    edges = _apart(edges_of(edge_index, nodes, edge_weight), nodes)
    values = edges.weights * node_weight[edges.source]
    matrix = coo_array((values, (edges.target, edges.source)), shape=(nodes, nodes)).tocsr()
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    shares = matrix.data / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(matrix.indptr))
    return SparseMatrix.from_csr(matrix.indptr, matrix.indices, shares, (nodes, nodes), device=edges.device)


def _apart(edges: Edges, loops: int) -> Edges:
    """Edges without self-loops, but for one of weight 1 at each of the first so many nodes."""
    apart, own = edges.source != edges.target, np.arange(loops)
    source, target = (np.concatenate([ends[apart], own]) for ends in (edges.source, edges.target))
    return Edges(source, target, np.concatenate([edges.weights[apart], np.ones(loops)]), edges.device)
