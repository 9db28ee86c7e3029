"""Linear denoisers: several hops of averaging, each a polynomial of one matrix.

Each is an nn.Module for PyG models (``module(x, edge_index)``) and an operator for sparse reports
(``module.operator(matrix)``), which a backbone's first layer applies after its weights: P(X')W = P(X'W).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphveil.checks import check_number, check_whole
from graphveil.denoise.blocks import block_width, column_reader
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.linear.propagation import edge_matrix, weighted_mean_matrix
from graphveil.linear.sparse import Columns, Polynomial, SparseMatrix, write
from graphveil.mechanisms import Estimate


class Aggregator(nn.Module, ABC):
    """K hops with Â = D^-1/2 A D^-1/2, no self-loops; 0 hops leave everything as it is.

    ``hops`` is K. As a module it maps features of n users (n x d, dense or a `SparseMatrix`) and PyG's ``edge_index`` (2 x edges, with
    ``edge_weight`` if edges count differently) or a sparse ``adj_t`` (n x n, of torch or torch_sparse) to n x d, dense. A user without neighbours ends up with zeros, whatever the own report was.
    """

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = check_whole(hops, "hops", least=0)

    @abstractmethod
    def coefficients(self) -> list[float]:
        """The weight of each power of the matrix, from 0 to K: K + 1 numbers."""

    def operator(self, matrix: SparseMatrix) -> Polynomial:
        """The hops along a matrix (n x n), as one linear map of n x k to n x k."""
        return Polynomial(matrix, self.coefficients() if self.hops else [1.0])

    def forward(self, x: Tensor | SparseMatrix, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Denoise features (n x d, dense or sparse) along the edges of a PyG graph; the result is dense."""
        matrix = edge_matrix(edge_index, x.shape[0], edge_weight=edge_weight)
        dense = x if isinstance(x, Tensor) else x @ torch.eye(x.shape[1], device=x.device)
        return (self.operator(matrix) @ dense.float()).to(dense.dtype)

    def extra_repr(self) -> str:
        """What the module's repr shows."""
        return str(self.hops)


class KProp(Aggregator):
    """Â^K x: what LPGNN calls KProp and UPGNET SKA. Many hops make all users of a component alike."""

    def coefficients(self) -> list[float]:
        """Only the last hop counts."""
        return [0.0] * self.hops + [1.0]


class HOA(Aggregator):
    """(1/K) Σ_{k=1..K} Â^k x: UPGNET's higher-order aggregator. Near users stay heard however far it reaches."""

    def coefficients(self) -> list[float]:
        """All hops alike, one's own report aside."""
        return [0.0] + [1 / self.hops] * self.hops


class Residual(Aggregator):
    """((I + Â)/2)^K x: residual connections, each hop averaged with what it started from (He et al. 2016).

    This is the plain form, halved so that its scale does not grow with K. UPGNET compares HOA with another one, whose share
    differs from user to user and depends on what they reported: `AdaptiveResidual`.
    """

    def coefficients(self) -> list[float]:
        """Binomial weights."""
        return [math.comb(self.hops, k) / 2**self.hops for k in range(self.hops + 1)]


AGGREGATORS: dict[str, type[Aggregator]] = {"kprop": KProp, "hoa": HOA, "residual": Residual}


class AdaptiveResidual(nn.Module):
    """Adaptive message passing (Liu et al. 2021, "Graph neural networks with adaptive residual", AirGNN): K times

        y = Âx,   x_i ← (1 - β_i) x°_i + β_i y_i,   β_i = max(1 - μ/‖y_i - x°_i‖, 0),   from x = x°, what users reported,

    with Â = D^-1/2 (A + I) D^-1/2, D the degrees with the loop, and μ = λ/(2(1-λ)). Each is a proximal gradient step, of size
    1/(2(1-λ)), towards the smallest λ Σ_i ‖x_i - x°_i‖ + (1-λ) tr xᵀ(I - Â)x. Whoever is near the own report stays there
    (β = 0), whoever is far away hardly hears it.

    ``hops`` is K, ``weight`` is λ in [0, 1); λ = 0 is KProp with loops. ``unit`` is the norm that counts as 1: the source has
    features of any norm, and λ means nothing without it. It takes whole rows and is not linear, so it cannot follow a
    layer's weights: the result is a dense matrix.
    """

    def __init__(self, hops: int, weight: float = 0.1, unit: float = 1.0) -> None:
        super().__init__()
        self.hops = check_whole(hops, "hops", least=0)
        self.weight = check_number(weight, "weight", least=0, below=1)
        self.unit = check_number(unit, "unit", above=0)

    @property
    def threshold(self) -> float:
        """μ, in the unit of the features: who is less far from the own report stays there."""
        return self.unit * self.weight / (2 * (1 - self.weight))

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Denoise features (n x d) along the edges of a PyG graph, as `Aggregator` takes them."""
        matrix = edge_matrix(edge_index, x.shape[0], edge_weight=edge_weight, loops=True)
        own = reached = x.float()
        for _ in range(self.hops):
            away = matrix @ reached - own
            reached = own + self._followed(away.norm(dim=1, keepdim=True)) * away
        return reached.to(x.dtype)

    def on_reports(self, estimate: Estimate, matrix: SparseMatrix) -> Tensor:
        """The same on decoded reports (n x d, offset aside) along a matrix (n x n): n x d, dense, and little more on the way."""
        whole = torch.zeros(estimate.shape, device=matrix.device)
        read = column_reader(estimate)
        for columns, own in _blocks(whole, read):
            whole[:, columns] = own
        for _ in range(self.hops):
            squares = torch.zeros((estimate.shape[0], 1), device=matrix.device, dtype=torch.float64)
            for columns, own in _blocks(whole, read):
                averaged = matrix.multiply(whole[:, columns].contiguous())
                whole[:, columns] = averaged
                squares += averaged.sub_(own).square_().sum(dim=1, keepdim=True)
            followed = self._followed(squares.sqrt()).float()
            for columns, own in _blocks(whole, read):
                whole[:, columns] = torch.lerp(own, whole[:, columns], followed)
        return whole

    def _followed(self, distances: Tensor) -> Tensor:
        """β: how far each user follows the hop, from how far it leads away from the own report."""
        followed: Tensor = (distances - self.threshold).clamp_min(0)
        return followed / distances.clamp_min(torch.finfo(distances.dtype).tiny)

    def extra_repr(self) -> str:
        """What the module's repr shows."""
        return f"{self.hops}, weight={self.weight:g}, unit={self.unit:g}"


def _blocks(whole: Tensor, read: Callable[[int, int], Columns]) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of the columns of n x d: which they are, and what is reported there (n x k)."""
    users, features = whole.shape
    width = block_width(features)
    for start in range(0, features, width):
        end = min(start + width, features)
        own = torch.zeros((users, end - start), device=whole.device)
        write(read(start, end), own)
        yield slice(start, end), own


Weights = NDArray[np.float64]
# How a user counts: by the reported level, as PPGNN prints it, or by the inverse variance of the own report, the optimum.
Weighting = Literal["printed", "inverse-variance"]


class FlexPropDenoiser:
    """Π^K x, Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself.

    PPGNN prints w_j = τ'_j, the reported level, within 1..f. It derives w_j = 1/σ²_j, which makes the variance of a mean of
    independent reports smallest (its Eq. 11), and calls that infeasible; but σ² given τ' is known in public, so it is not.
    The optimum is that of one hop. ``hops`` is K.
    """

    def __init__(self, hops: int) -> None:
        self.last = KProp(hops)

    def operator(self, graph: Graph, weights: Weights, device: torch.device | str = "cpu") -> Polynomial:
        """The hops along a graph of n users with a weight each (n numbers), as one linear map of n x k to n x k."""
        return self.last.operator(weighted_mean_matrix(graph, weights, device=device))


def user_weights(levels: NDArray[np.int64], variances: Weights, weighting: Weighting) -> Weights:
    """How much each of n users counts, from the reported levels (n numbers in 1..f) and the f variances of a report given each.

    >>> user_weights(np.array([1, 2]), np.array([4.0, 1.0]), "inverse-variance").tolist()
    [0.25, 1.0]
    """
    if weighting == "printed":
        return levels.astype(np.float64)
    if not (np.isfinite(variances).all() and (variances > 0).all()):
        raise InputError("variances must be positive and finite, one a level")
    weights: Weights = 1 / variances[levels - 1]
    return weights
