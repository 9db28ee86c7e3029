"""Edges as PyG has them: an ``edge_index`` with or without weights, or a sparse adjacency matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.errors import InputError

SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


@dataclass(frozen=True, eq=False)
class Edges:
    """Where each edge comes from and leads to, and how much it counts: 1 where nothing is said."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weights: NDArray[np.float64]
    device: torch.device

    @property
    def plain(self) -> bool:
        """Whether all edges count alike."""
        return bool((self.weights == 1).all())


def edges_of(edges: Any, nodes: int, edge_weight: Tensor | None = None) -> Edges:
    """The edges of n nodes, from any form in which PyG's layers take them.

    ``edges`` is an ``edge_index`` (2 x edges, sources above targets), with a weight an edge if ``edge_weight`` is given; or a sparse
    matrix, n x n, whose row is the target and whose column is the source, as PyG's ``adj_t``: a sparse tensor of torch, or
    torch_sparse's ``SparseTensor``. Its values are the weights. Weights are constants: no gradient flows into them.
    """
    if hasattr(edges, "coo"):
        # torch_sparse's; it need not be installed to be recognized.
        target, source, values = edges.coo()
        found = _found(source, target, values)
        _check_square(tuple(edges.sizes()), nodes)
    elif isinstance(edges, Tensor) and edges.layout in SPARSE:
        _check_square(tuple(edges.shape), nodes)
        whole = edges.detach().to_sparse_coo().coalesce()
        target, source = whole.indices()
        found = _found(source, target, whole.values())
    elif isinstance(edges, Tensor) and edges.dim() == 2 and len(edges) == 2 and not edges.is_floating_point():
        source, target = edges
        found = _found(source, target, edge_weight)
        return _checked(found, nodes)
    else:
        kind = (
            f"{edges.dtype} of shape {tuple(edges.shape)}"
            if isinstance(edges, Tensor)
            else type(edges).__name__
        )
        raise InputError(
            f"edges must be an edge_index (2 x edges, integers) or a sparse adjacency matrix ({nodes} x {nodes}), got {kind}"
        )
    if edge_weight is not None:
        raise InputError("a sparse adjacency matrix has its weights itself: leave edge_weight out")
    return _checked(found, nodes)


def _found(source: Tensor, target: Tensor, weights: Tensor | None) -> Edges:
    first, second = (each.detach().cpu().numpy().astype(np.int64) for each in (source, target))
    count = np.ones(len(first)) if weights is None else weights.detach().cpu().numpy().astype(np.float64)
    return Edges(first, second, count, source.device)


def _checked(edges: Edges, nodes: int) -> Edges:
    if edges.weights.shape != edges.source.shape:
        raise InputError(
            f"edge_weight must be {len(edges.source)} numbers, one an edge, got the shape {edges.weights.shape}"
        )
    if not np.isfinite(edges.weights).all() or (edges.weights < 0).any():
        raise InputError(
            "weights of edges must be finite and at least 0: an edge cannot count less than nothing"
        )
    ends = np.concatenate([edges.source, edges.target])
    if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < nodes:
        raise InputError(f"edges must name nodes 0..{nodes - 1}, got {int(ends.min())}..{int(ends.max())}")
    return edges


def _check_square(shape: tuple[int, ...], nodes: int) -> None:
    if shape != (nodes, nodes):
        raise InputError(f"an adjacency matrix of {nodes} nodes must be {nodes} x {nodes}, got {shape}")
