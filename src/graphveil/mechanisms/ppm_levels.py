"""The randomized levels of a personal mechanism: what the server makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel
from graphveil.mechanisms.level_shares import checked_shares, estimate_level_shares

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RandomizedLevels:
    """Levels 1..f, of which there are ``count``, and the channel that makes τ' of them."""

    channel: Channel
    count: int

    @cached_property
    def rows(self) -> list[list[int]]:
        """How many of the channel's draws give each τ', for each level."""
        return [self.channel.row(level) for level in range(self.count)]

    @cached_property
    def transition(self) -> Floats:
        """The probability of each τ' (column) for each level (row)."""
        return np.array([[count / self.channel.total for count in row] for row in self.rows])

    @cached_property
    def clamped(self) -> NDArray[np.int64]:
        """What each τ' is within 1..f, by its code."""
        return np.clip(self.channel.outputs, 1, self.count).astype(np.int64)

    def clamped_transition(self) -> Floats:
        """The probability of each τ' within 1..f (column) for each level (row)."""
        levels = range(1, self.count + 1)
        return np.stack([self.transition[:, self.clamped == level].sum(axis=1) for level in levels], axis=1)

    def shares(self, codes: NDArray[np.int64]) -> Floats:
        """Which share of users chose each level, estimated from the codes of all τ' by EM."""
        counts = np.bincount(codes, minlength=self.channel.output_count)
        return estimate_level_shares(counts, self.transition)

    def posterior(self, shares: Any) -> Floats:
        """P[τ | τ'] at these shares of the levels: a row a τ', a column a level."""
        prior = checked_shares(shares, self.count)
        joint = prior[:, None] * self.transition
        return np.asarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)
