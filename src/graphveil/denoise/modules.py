"""Denoisers that are modules of torch: hops of averaging along a matrix, and shrinkage by size or by column.

Those of hops are polynomials of one matrix. Each is an nn.Module for PyG models (``module(x, edge_index)``) and an operator for sparse reports
(``module.operator(matrix)``), which a backbone's first layer applies after its weights: P(X')W = P(X'W).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from graphveil.checks import check_number, check_whole
from graphveil.denoise.blocks import block_width, column_reader
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.linear.propagation import edge_matrix
from graphveil.linear.sparse import Columns, Polynomial, SparseMatrix, write
from graphveil.mechanisms import Estimate


class Aggregator(nn.Module, ABC):
    """K hops with Â = D^-1/2 A D^-1/2, no self-loops; 0 hops leave everything as it is.

    ``hops`` is K. As a module it maps features of n users (n x d, dense or a `SparseMatrix`) and PyG's ``edge_index`` (2 x edges, with
    ``edge_weight`` if edges count differently) or a sparse ``adj_t`` (n x n, of torch or torch_sparse) to n x d, dense. A user without neighbours ends up with zeros, whatever they reported.
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
        """Denoise features along the edges of a PyG graph; the result is dense.

        Parameters
        ----------
        x
            The features: (n, d), dense or sparse.
        edge_index
            The edges, in any form that PyG's layers take.
        edge_weight
            A weight for each edge.
        """
        matrix = edge_matrix(edge_index, x.shape[0], edge_weight=edge_weight)
        dense = x if isinstance(x, Tensor) else x @ torch.eye(x.shape[1], device=x.device)
        return (self.operator(matrix) @ dense.float()).to(dense.dtype)

    def extra_repr(self) -> str:
        """Return what the module's repr shows."""
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
    1/(2(1-λ)), towards the smallest λ Σ_i ‖x_i - x°_i‖ + (1-λ) tr xᵀ(I - Â)x. Users close to their own
    report keep it (β = 0), those far away hardly hear it.

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
        """μ, in the unit of the features: users closer to their report keep it."""
        return self.unit * self.weight / (2 * (1 - self.weight))

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Denoise features along the edges of a PyG graph.

        Parameters
        ----------
        x
            The features: (n, d).
        edge_index, edge_weight
            As `Aggregator` takes them.
        """
        matrix = edge_matrix(edge_index, x.shape[0], edge_weight=edge_weight, loops=True)
        own = reached = x.float()
        for _ in range(self.hops):
            away = matrix @ reached - own
            reached = own + self._followed(away.norm(dim=1, keepdim=True)) * away
        return reached.to(x.dtype)

    def on_reports(self, estimate: Estimate, matrix: SparseMatrix) -> Tensor:
        """Denoise decoded reports (n x d, offset aside) along a matrix (n x n): n x d, dense, and little more on the way."""
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
        """β: how far each user follows the hop, from how far it leads away from their report."""
        followed: Tensor = (distances - self.threshold).clamp_min(0)
        return followed / distances.clamp_min(torch.finfo(distances.dtype).tiny)

    def extra_repr(self) -> str:
        """Return what the module's repr shows."""
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
# How a user counts: by the reported level, as PPGNN prints it, or by the inverse variance of the report, the optimum.
Weighting = Literal["printed", "inverse-variance"]


def user_weights(levels: NDArray[np.int64], variances: Weights, weighting: Weighting) -> Weights:
    """Return the weight of each user in FlexProp.

    FlexProp (PPGNN) is Π^K x, Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself: `KProp` along `weighted_mean_matrix`.
    PPGNN prints w_j = τ'_j, the reported level, within 1..f. It derives w_j = 1/σ²_j, which makes the variance of a mean of
    independent reports smallest (its Eq. 11), and calls that infeasible; but σ² given τ' is known in public, so it is not.
    The optimum is that of one hop.

    Parameters
    ----------
    levels
        The reported level of each user: (users,) int64 in 1..f.
    variances
        The variance of a report given each reported level: (f,) float64.
    weighting
        "printed" for w_j = τ'_j, or "inverse-variance".

    >>> user_weights(np.array([1, 2]), np.array([4.0, 1.0]), "inverse-variance").tolist()
    [0.25, 1.0]
    """
    if weighting == "printed":
        return levels.astype(np.float64)
    if not (np.isfinite(variances).all() and (variances > 0).all()):
        raise InputError("variances must be positive and finite, one a level")
    return np.asarray(1 / variances[levels - 1])


# Sizes that differ by less than this share of the largest are one size.
ONE_SIZE = 1e-5


class Shrinkage(nn.Module):
    """A denoiser with a threshold of at least 0, which comes from public constants.

    Features and estimates are n users x d features, and stay so.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = check_number(threshold, "threshold", least=0, infinite=True)

    def extra_repr(self) -> str:
        """Return what the module's repr shows."""
        return f"{self.threshold:g}"


@dataclass(frozen=True)
class Effect:
    """The effect of a soft threshold on some numbers: those that are not 0 have sizes from ``least`` to ``most``, and a share is ``dropped``."""

    threshold: float
    least: float
    most: float
    dropped: float

    @property
    def selects(self) -> bool:
        """Whether some numbers become 0 and others do not: only that tells numbers apart."""
        return 0 < self.dropped < 1

    @property
    def sentence(self) -> str:
        """A sentence about it, and about thresholds that would do something else."""
        if self.most == 0:
            return "all numbers are 0, and stay so whatever the threshold"
        if self.most - self.least <= ONE_SIZE * self.most:
            factor = max(0.0, 1 - self.threshold / self.most)
            return (
                f"all numbers that are not 0 have the size {self.most:.4g}, so no threshold selects any: {self.threshold:.4g} scales "
                f"them by {factor:.4g}, and from {self.most:.4g} on all are 0"
            )
        drops = f"{self.threshold:.4g} drops {100 * self.dropped:.1f}% of the numbers that are not 0"
        return f"{drops}; only thresholds from {self.least:.4g} to {self.most:.4g} select some"


class NFR(Shrinkage):
    """Node feature regularization (UPGNET, Eqs. 11 and 13): sign(h)·max(|h| - μ, 0), the soft threshold of the L1 norm.

    Which μ does anything depends on what it is given: `effective` says so. All non-zero reports of multi-bit are ±B, so that any μ
    below B only scales them by 1 - μ/B.

    >>> NFR(0.5).effective(torch.tensor([2.0, 0.0, -2.0])).sentence
    'all numbers that are not 0 have the size 2, so no threshold selects any: 0.5 scales them by 0.75, and from 2 on all are 0'
    """

    def effective(self, x: Tensor | Estimate) -> Effect:
        """Return what this threshold does to features (any shape) or decoded reports, and which thresholds would select some."""
        values = x.values if isinstance(x, Estimate) else x.detach().cpu().numpy()
        sizes = np.abs(np.asarray(values, dtype=np.float64))
        sizes = sizes[sizes > 0]
        if not sizes.size:
            return Effect(self.threshold, 0.0, 0.0, 0.0)
        dropped = float((sizes <= self.threshold).mean())
        return Effect(self.threshold, float(sizes.min()), float(sizes.max()), dropped)

    def forward(self, x: Tensor) -> Tensor:
        """Every entry shrunk; any shape stays."""
        return torch.nn.functional.softshrink(x, self.threshold)

    def on_reports(self, estimate: Estimate) -> Estimate:
        """Shrink decoded reports; the offset of the estimate is left alone."""
        shrunk = np.maximum(np.abs(estimate.values) - self.threshold, 0) * np.sign(estimate.values)
        return replace(estimate, values=shrunk, unbiased=False)


class GroupLasso(Shrinkage):
    """x_j·max(0, 1 - μ/‖x_j‖) for each column j: whole features shrink or vanish together (Yuan and Lin 2006).

    UPGNET compares NFR with a group lasso, cites Meier et al. (2008), who penalize groups of a regression's weights, and names
    no groups. Here reports are shrunk, and a group is a feature.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Every column of n x d features shrunk."""
        norms = x.norm(dim=0)
        shrunk: Tensor = (norms - self.threshold).clamp_min(0)
        kept: Tensor = shrunk / norms.clamp_min(torch.finfo(x.dtype).tiny)
        return x * kept

    def on_reports(self, estimate: Estimate) -> Estimate:
        """Shrink decoded reports; the offset of the estimate is left alone."""
        columns = estimate.indices
        if columns is None:
            columns = np.tile(np.arange(estimate.shape[1]), estimate.shape[0])
        norms = np.sqrt(np.bincount(columns, weights=estimate.values**2, minlength=estimate.shape[1]))
        shrunk = np.maximum(norms - self.threshold, 0)
        kept = np.divide(shrunk, norms, out=np.zeros_like(norms), where=norms > 0)
        return replace(estimate, values=estimate.values * kept[columns], unbiased=False)


# Entries up to this size are forgotten, the others are shrunk by that.
FORGET, SHRINK = 2.0, 1.0


def forgetful_mean(estimate: Estimate, graph: Graph) -> Any:
    """The mean of the neighbours' decoded reports, oneself left out, each entry forgotten or shrunk.

    From an estimate of n users x d features (offset aside) to a scipy matrix of the same shape; a user without neighbours has
    a row of zeros.
    """
    weights = np.repeat(1 / np.maximum(graph.degrees, 1), graph.degrees)
    links = csr_array((weights, graph.indices, graph.indptr), shape=(graph.node_count,) * 2)
    mean = links @ estimate.to_scipy()
    mean.data[np.abs(mean.data) <= FORGET] = 0
    mean.data -= SHRINK * np.sign(mean.data)
    mean.eliminate_zeros()
    return mean
