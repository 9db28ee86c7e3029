"""Adaptive residual connections: hops that each user follows as far as the result is from the own report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from graphveil.checks import check_number, check_whole
from graphveil.denoise.blocks import block_width, column_reader
from graphveil.linear.propagation import edge_matrix
from graphveil.linear.sparse import Columns, SparseMatrix, write
from graphveil.mechanisms import Estimate


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
