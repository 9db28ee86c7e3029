"""Personalized PageRank of decoded reports, as LDP-GE spreads them (Li et al. 2024), by three algorithms with one guarantee.

    Z = Σ_{l≥0} α(1-α)^l P^l X,   P = D^(r-1) A D^-r

Every algorithm gives Ẑ with |Z - Ẑ|_ij ≤ deg(i)^r · r_max, known before it starts; users without neighbours keep their row,
exactly. With c = 1-α, R = D^-r X and the columns x_j of X, users without neighbours aside:
- ``push``: backward push with the threshold r_max (`graphveil.linear.kernels`).
- ``power``: L hops. The rest is c^(L+1) times a weighted mean of R, so c^(L+1)·max|R| ≤ r_max is enough.
- ``chebyshev``: α/(1-cx) = (α/s)(1 + 2Σ_k q^k T_k(x)), s = √(1-c²), q = (1-s)/c, up to T_K. What is dropped sums up to
  tail_K = 2(α/s) q^(K+1)/(1-q), and P = D^(r-1/2) S D^(1/2-r) with S symmetric, so row i of column j is off by at most
  d_i^(r-1/2)·tail_K·‖D^(1/2-r) x_j‖₂, which is at most d_i^r·r_max for all i if it is at the smallest degree.

A series is cut so that half of r_max is enough; the other half is for rounding. It is summed up in single precision where r_max
is at least 2^-24·(2 + maxdeg/16)/α·max|R|, else in double, as a push always is; where even 2^-53 instead of 2^-24 is too much,
r_max is refused. That this holds was measured, not proved: the worst column is X = D^r·1, which hops leave as it is, so that
all roundings add up; on stars and on real graphs they stay below a third of r_max. Results are float32, whose rounding, 2^-24
of each entry, comes on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil import linear
from graphveil.checks import check_number
from graphveil.denoise.blocks import (
    block_width,
    column_reader,
    propagated_blocks,
)
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.linear.propagation import pagerank_matrix
from graphveil.linear.sparse import Chebyshev, Device, HopSeries, Polynomial, SparseMatrix, write
from graphveil.mechanisms import Estimate

Algorithm = Literal["auto", "push", "power", "chebyshev"]
ALGORITHMS = ("auto", "push", "power", "chebyshev")
# So many columns of facebook are multiplied fastest at a time: more leave the processor's cache.
COLUMNS = 32
# What a push costs for each edge that it visits at most, in units of an entry of a sparse product with one column. A visit
# costs about 20, but on facebook about a quarter of the visits that are allowed for are made.
PUSH_COST = 5.0
# What a double costs in a product, in units of a single.
DOUBLE_COST = 2.0
# The unit roundoffs.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
# So many neighbours add one more rounding to a sum, measured.
NEIGHBOURS = 16
# The share of r_max at which a series is cut.
CUT = 0.5


@dataclass(frozen=True)
class PageRankPlan:
    """The algorithm and precision that are used, the hops that each series needs, and the work of each algorithm.

    Work is counted in entries of P times columns, in single precision.
    """

    algorithm: str
    precision: Literal["single", "double"]
    hops: dict[str, int]
    work: dict[str, float]


@dataclass(frozen=True)
class PageRankDenoiser:
    """Personalized PageRank with the restart probability α and D^(r-1) A D^-r, every entry within deg^r · r_max.

    ``alpha`` is above 0 and below 1, ``r`` within 0 and 1, ``r_max`` above 0, ``algorithm`` one of auto, push, power and
    chebyshev. Estimates are n users x d features, and so is Ẑ.

    >>> PageRankDenoiser(alpha=0.2, r=0.5, r_max=1e-3).terms(1e-3)
    {'power': 30, 'chebyshev': 10}
    """

    alpha: float
    r: float = 0.5
    r_max: float = 1e-4
    algorithm: Algorithm = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_number(self.alpha, "alpha", above=0, below=1))
        object.__setattr__(self, "r", check_number(self.r, "r", least=0, most=1))
        object.__setattr__(self, "r_max", check_number(self.r_max, "r_max", above=0))
        if self.algorithm not in ALGORITHMS:
            raise InputError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {self.algorithm!r}")

    def operator(self, matrix: SparseMatrix) -> HopSeries:
        """The propagation along `pagerank_matrix` (n x n), one linear map of n x k with a gradient: the series with fewer hops.

        At every eigenvalue x of the matrix it is within r_max of α/(1-(1-α)x), which lies in (0, 1]. So for r = 1/2 the
        error in a column is at most r_max times the column's 2-norm, and for other r so with both measured by
        ‖D^(1/2-r) ·‖₂. Rounding to single precision comes on top.
        """
        terms = self.terms(self.r_max)
        names = [name for name in terms if self.algorithm in ("auto", "push", name)]
        best = min(names, key=lambda name: terms[name])
        return self._series(matrix, best, terms[best])

    def terms(self, relative: float) -> dict[str, int]:
        """Return the hops that leave at most this share of a series at any eigenvalue: (1-α)^(L+1), or tail_K."""
        first, q = self._expansion()
        return {
            "power": _least_power(1.0, 1 - self.alpha, relative) - 1,
            "chebyshev": _least_power(2 * first / (1 - q), q, relative) - 1,
        }

    def plan(self, estimate: Estimate, graph: Graph) -> PageRankPlan:
        """The algorithm that ``auto`` takes: the least work. A push is counted with the most edges that it may visit."""
        largest, norm, volume = self._sizes(estimate, graph)
        least = int(graph.degrees[graph.degrees > 0].min(initial=graph.node_count))
        hops = {
            "power": self.terms(CUT * self.r_max / largest if largest else math.inf)["power"],
            "chebyshev": self.terms(CUT * self.r_max * math.sqrt(least) / norm if norm else math.inf)[
                "chebyshev"
            ],
        }
        roundings = largest * (2 + int(graph.degrees.max(initial=0)) / NEIGHBOURS) / self.alpha
        if self.r_max < DOUBLE * roundings:
            raise InputError(f"rounding needs r_max of at least {DOUBLE * roundings:.2g}, got {self.r_max:g}")
        single = self.r_max >= SINGLE * roundings
        entry = 1.0 if single else DOUBLE_COST
        cells = (len(graph.indices) + graph.node_count) * estimate.shape[1]
        work = {name: entry * (hops[name] + 1) * cells for name in hops}
        work["push"] = PUSH_COST * (volume / (self.alpha * self.r_max) + estimate.values.size)
        chosen = self.algorithm if self.algorithm != "auto" else min(work, key=lambda name: work[name])
        return PageRankPlan(chosen, "single" if single and chosen != "push" else "double", hops, work)

    def blocks(
        self, estimate: Estimate, graph: Graph, device: Device = "cpu"
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield the first column and the values of blocks of k columns of Ẑ (offset aside; n x k).

        The next block overwrites the one before.

        Parameters
        ----------
        estimate
            The decoded reports.
        graph
            The graph to denoise along.
        """
        if estimate.shape[0] != graph.node_count:
            raise InputError(f"the graph has {graph.node_count} users, the estimate {estimate.shape[0]} rows")
        plan = self.plan(estimate, graph)
        if plan.algorithm == "push":
            return self._pushed(estimate, graph, device)
        dtype = torch.float32 if plan.precision == "single" else torch.float64
        matrix = pagerank_matrix(graph, self.r, device=device, dtype=dtype)
        hops = self._series(matrix, plan.algorithm, plan.hops[plan.algorithm])
        width = COLUMNS if plan.precision == "single" else COLUMNS // 2
        propagated = propagated_blocks(estimate, hops, device, widest=width, dtype=dtype)
        return self._with_own_rows(propagated, graph, device)

    def rows(self, estimate: Estimate, graph: Graph, device: Device = "cpu") -> NDArray[np.float32]:
        """Return Ẑ (offset aside), dense: (n, d) float32.

        Parameters
        ----------
        estimate
            The decoded reports.
        graph
            The graph to denoise along.
        """
        whole = torch.empty(estimate.shape, device=device)
        for start, block in self.blocks(estimate, graph, device):
            whole[:, start : start + block.shape[1]] = block
        return np.asarray(whole.cpu().numpy(), dtype=np.float32)

    def _series(self, matrix: SparseMatrix, name: str, hops: int) -> HopSeries:
        keep = 1 - self.alpha
        if name == "power":
            return Polynomial(matrix, [self.alpha * keep**k for k in range(hops + 1)])
        first, q = self._expansion()
        return Chebyshev(matrix, [first] + [2 * first * q**k for k in range(1, hops + 1)])

    def _expansion(self) -> tuple[float, float]:
        """α/s and q of the Chebyshev series; s² = 1-c² = α(2-α)."""
        root = math.sqrt(self.alpha * (2 - self.alpha))
        # (1-s)/c without the difference of two numbers that are nearly alike.
        return self.alpha / root, (1 - self.alpha) / (1 + root)

    def _sizes(self, estimate: Estimate, graph: Graph) -> tuple[float, float, float]:
        """max|D^-r X|, the largest ‖D^(1/2-r) x_j‖₂, and Σ deg·|D^-r X|, without users who have no neighbours."""
        counts = np.diff(estimate.indptr)
        degree = graph.degrees.astype(np.float64)
        linked = degree > 0

        def each(power: float) -> np.ndarray:
            scale = np.power(degree, power, out=np.zeros_like(degree), where=linked)
            return np.repeat(scale, counts)

        values = np.abs(estimate.values)
        largest = float((values * each(-self.r)).max(initial=0.0))
        volume = float(values @ each(1 - self.r))
        squares = (values * each(0.5 - self.r)) ** 2
        features = estimate.shape[1]
        if estimate.indices is None:
            columns = squares.reshape(estimate.shape).sum(axis=0)
        else:
            columns = np.bincount(estimate.indices, weights=squares, minlength=features)
        return largest, math.sqrt(float(columns.max(initial=0.0))), volume

    def _pushed(self, estimate: Estimate, graph: Graph, device: Device) -> Iterator[tuple[int, Tensor]]:
        push, read = linear.Push(graph, self.alpha, self.r, self.r_max), column_reader(estimate)
        users, features = estimate.shape
        width = block_width(features)
        room = torch.zeros((users, width), device=device)
        for start in range(0, features, width):
            end = min(start + width, features)
            block = room[:, : end - start].zero_()
            write(push(read(start, end)), block)
            yield start, block

    def _with_own_rows(
        self, blocks: Iterator[tuple[int, Tensor, Tensor]], graph: Graph, device: Device
    ) -> Iterator[tuple[int, Tensor]]:
        """A series never ends, so users without neighbours get their row back."""
        alone = torch.from_numpy(np.flatnonzero(graph.degrees == 0)).to(device)
        for start, entries, block in blocks:
            block[alone] = entries[alone]
            yield start, block.float()


def _least_power(start: float, base: float, bound: float) -> int:
    """The smallest k of at least 1 with start·base^k ≤ bound."""
    if start * base <= bound:
        return 1
    k = max(1, math.ceil(math.log(bound / start) / math.log(base)))
    while start * base**k > bound:
        k += 1
    return k
