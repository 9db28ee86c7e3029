"""Inner products of the rows of pairs: how alike two users' embeddings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.linear.pairs import PairPattern

# So many pairs at once, that their rows stay in the cache.
PAIRS_AT_ONCE = 8192


class PairProducts:
    """⟨H_u, H_v⟩ for a fixed list of pairs, each once, with a gradient for H.

    ``pairs`` is m x 2, H has a row a user (n x h), and the result m numbers. The gradient is a sparse matrix of the pairs
    times H: no row is gathered or scattered for it.
    """

    def __init__(self, pairs: NDArray[np.integer], users: int, device: torch.device | str = "cpu") -> None:
        self.pattern = PairPattern(pairs, users, device)

    def __call__(self, rows: Tensor) -> Tensor:
        products: Callable[..., Tensor] = _Products.apply
        return products(rows, self.pattern)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, pattern: PairPattern) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(rows)
        first, second = pattern.ends
        parts = zip(first.split(PAIRS_AT_ONCE), second.split(PAIRS_AT_ONCE), strict=True)
        return torch.cat([(rows.index_select(0, u) * rows.index_select(0, v)).sum(1) for u, v in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return torch.mm(ctx.pattern.csr(ctx.pattern.entries(gradients[0], 0.0)), rows), None
