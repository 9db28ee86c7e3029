"""Decoded reports after some hops, never multiplied out: products with them, and their columns block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.denoise.blocks import propagated_blocks
from graphveil.errors import InputError
from graphveil.learn.inputs import estimate_input
from graphveil.linear.series import Series
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import Estimate

Numbers = NDArray[np.int64]
# Columns of a block: few enough that a block and its hops stay in the cache.
WIDEST = 32


@dataclass(frozen=True, eq=False)
class Denoised:
    """H = hops @ X (n users x d attributes) for decoded reports X (n x d), the constant offset left out; ``hops`` is n x n.

    Products project before they propagate: H W = hops (X W), Hᵀ V = Xᵀ (hopsᵀ V). What is not linear in H, such as a variance,
    goes through `blocks`.
    """

    estimate: Estimate
    hops: Series
    device: torch.device | str = "cpu"

    def __post_init__(self) -> None:
        if self.hops.shape[1] != self.estimate.shape[0]:
            raise InputError(
                f"the hops run over {self.hops.shape[1]} users and {self.estimate.shape[0]} have reported: "
                "take the graph of the users who report"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Users and attributes."""
        return self.estimate.shape

    def blocks(self, users: Numbers | None = None) -> Iterator[tuple[int, Tensor]]:
        """The columns of H in blocks, for some users (in this order) or all: the first column of each, and the block.

        The next block overwrites it: room that is taken and given back for each costs more than what is done in it.
        """
        propagated = propagated_blocks(self.estimate, self.hops, self.device, widest=WIDEST)
        if users is None:
            yield from ((first, block) for first, _, block in propagated)
            return
        chosen, room = torch.from_numpy(users).to(self.device), torch.empty(0)
        for first, _, block in propagated:
            if room.shape[1:] != block.shape[1:]:
                room = block.new_empty((len(users), block.shape[1]))
            yield first, torch.index_select(block, 0, chosen, out=room)

    def times(self, weights: Tensor) -> Tensor:
        """H W, for weights W (attributes x columns)."""
        return self.hops @ (self.reports @ weights.to(self.device, torch.float32).contiguous())

    def transposed_times(self, values: Tensor) -> Tensor:
        """Hᵀ V, for values V (users x columns)."""
        hops = type(self.hops)(self.hops.matrix.transposed, self.hops.coefficients)
        arrived = hops @ values.to(self.device, torch.float32).contiguous()
        reports = self.reports
        return (reports.transposed if isinstance(reports, SparseMatrix) else reports.T) @ arrived

    @cached_property
    def reports(self) -> SparseMatrix | Tensor:
        """X: sparse, or dense where the mechanism reports every value."""
        return estimate_input(self.estimate, 1.0, self.device)
