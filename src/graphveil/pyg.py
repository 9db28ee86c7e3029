"""graphveil for those who have a PyG pipeline already: a transform that makes features private, and denoisers as modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphveil import denoise
from graphveil.channels import SeededWords
from graphveil.denoise import HOA, NFR, GroupLasso, KProp, Residual
from graphveil.errors import InputError
from graphveil.learn.inputs import report_input
from graphveil.linear.propagation import pagerank_edge_matrix
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import mechanism

__all__ = ["HOA", "NFR", "GroupLasso", "KProp", "PageRank", "Privatize", "Residual"]


class Privatize(BaseTransform):  # type: ignore[misc]
    """Replace ``data.x`` by what a server could know of it: every node reports its row once, at ε.

    By default rows are scaled by public constants to a norm that a GNN can be trained on; ``scaled=False`` gives the
    mechanism's own estimate, unbiased where the mechanism is. ``blind=True`` is the control: reports that carry nothing.
    ``data.privacy`` says what was spent. A seed makes the reports repeatable, as a simulation needs them.

    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> Privatize("multibit", epsilon=1.0, range=(0, 1))(data).privacy
    {'mechanism': 'multibit', 'epsilon': 1.0, 'delta': 0.0}
    """

    def __init__(
        self,
        name: str,
        *,
        epsilon: float,
        range: tuple[float, float],
        scaled: bool = True,
        blind: bool = False,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        self.name, self.epsilon, self.range = name, epsilon, range
        self.scaled, self.blind, self.seed, self.settings = scaled, blind, seed, settings

    def forward(self, data: Data) -> Data:
        """Report every row of ``data.x`` and put the estimates in its place."""
        if data.x is None:
            raise InputError("data has no x to report: load a graph with features")
        rows = (data.x.to_dense() if data.x.is_sparse else data.x).detach().cpu().numpy()
        asked = mechanism(
            self.name, epsilon=self.epsilon, dims=rows.shape[1], range=self.range, **self.settings
        )
        answering = asked.blind() if self.blind else asked
        reports = answering.randomize(rows, None if self.seed is None else SeededWords(self.seed))
        if self.scaled:
            inputs = report_input(reports)
            data.x = inputs.to_dense() if isinstance(inputs, SparseMatrix) else inputs
        else:
            data.x = torch.from_numpy(reports.estimate().dense()).float()
        claim = answering.claim
        data.privacy = {"mechanism": self.name, "epsilon": claim.epsilon, "delta": claim.delta}
        return data

    def __repr__(self) -> str:
        return f"Privatize({self.name}, epsilon={self.epsilon:g})"


class PageRank(nn.Module):
    """Σ_l α(1-α)^l P^l x with P = D^(r-1) A D^-r (LDP-GE): `graphveil.denoise.PageRank` as a module, with a gradient.

    An edge counts in both directions. A node without neighbours keeps its row. Each column is within r_max of its norm, as
    `graphveil.denoise.PageRank.operator` says.
    """

    def __init__(self, alpha: float, r: float = 0.5, r_max: float = 1e-4) -> None:
        super().__init__()
        self.settings = denoise.PageRank(alpha, r, r_max)

    def forward(self, x: Tensor | SparseMatrix, edge_index: Tensor) -> Tensor:
        """Propagate features (n x d, dense or sparse) along the edges of a PyG graph; the result is dense."""
        matrix = pagerank_edge_matrix(edge_index, x.shape[0], self.settings.r)
        dense = x if isinstance(x, Tensor) else x @ torch.eye(x.shape[1], device=x.device)
        return (self.settings.operator(matrix) @ dense.float()).to(dense.dtype)

    def extra_repr(self) -> str:
        """What the module's repr shows."""
        return f"{self.settings.alpha:g}, r={self.settings.r:g}, r_max={self.settings.r_max:g}"
