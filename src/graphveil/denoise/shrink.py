"""Denoisers that shrink entries: NFR by size, group lasso by column; and the program of UPGNET's authors, which forgets small ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from graphveil.checks import check_number
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import Estimate

# Sizes that differ by less than this share of the largest are one size.
ONE_SIZE = 1e-5


class Shrinkage(nn.Module):
    """What NFR and group lasso share: a threshold of at least 0, which comes from public constants.

    Features and estimates are n users x d features, and stay so.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = check_number(threshold, "threshold", least=0, infinite=True)

    def extra_repr(self) -> str:
        """What the module's repr shows."""
        return f"{self.threshold:g}"


@dataclass(frozen=True)
class Effect:
    """What a soft threshold does to some numbers: those that are not 0 have sizes from ``least`` to ``most``, and a share is ``dropped``."""

    threshold: float
    least: float
    most: float
    dropped: float

    @property
    def selects(self) -> bool:
        """Whether some numbers become 0 and others do not: that alone tells numbers apart."""
        return 0 < self.dropped < 1

    @property
    def sentence(self) -> str:
        """What it does, and which thresholds would do something else."""
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
        """What this threshold does to features (any shape) or decoded reports, and which thresholds would select some."""
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
        """The same on decoded reports; the offset of the estimate is left alone."""
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
        """The same on decoded reports; the offset of the estimate is left alone."""
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
