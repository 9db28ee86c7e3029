"""Denoisers that shrink entries: NFR by size, group lasso by column. They keep zeros, so sparse reports stay sparse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from graphveil.checks import check_number
from graphveil.mechanisms import Estimate


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


class NFR(Shrinkage):
    """Node feature regularization (UPGNET, Eqs. 11 and 13): sign(h)·max(|h| - μ, 0), the soft threshold of the L1 norm."""

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
