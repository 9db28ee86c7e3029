"""Linear denoisers: several hops of averaging, each a polynomial of one matrix.

Each is an nn.Module for PyG models (``module(x, edge_index)``) and an operator for sparse reports
(``module.operator(matrix)``), which a backbone's first layer applies after its weights: P(X')W = P(X'W).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from graphveil.checks import check_whole
from graphveil.linear.polynomial import Polynomial
from graphveil.linear.propagation import edge_matrix
from graphveil.linear.sparse import SparseMatrix


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
