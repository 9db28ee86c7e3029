"""What the answers of a personal mechanism count in an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.mechanisms.ppm_levels import RandomizedLevels
from graphveil.mechanisms.ppm_ways import Way, groups, top

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decoding:
    """From codes to estimates: ``ways`` is how each level answers beside each τ', ``size`` is d, ``blank`` the largest code."""

    ways: tuple[tuple[Way, ...], ...]
    size: int
    levels: RandomizedLevels
    blank: int

    def table(self, shares: Any) -> Floats:
        """What each code (column) beside each τ' (row) adds to an estimate, in half widths; a blank adds 0.

        A sign s decodes to s·(d/m')/E[r(a_τ) | τ'], at these shares of the levels.
        """
        decoded = np.zeros((self.levels.channel.output_count, self.blank + 1))
        for place, weights in enumerate(self.levels.posterior(shares)):
            ways = tuple(ways[place] for ways in self.ways)
            for group in groups(ways).values():
                way, weight = ways[group[0]], weights[group]
                tops = np.array([top(ways[level].channel) for level in group])
                # r(a_τ) of a level is 1 over its magnitude; the signs are the same for all levels of the group.
                response = weight @ (1 / tops) / weight.sum() if weight.sum() > 0 else (1 / tops).mean()
                signs = way.channel.outputs / tops[0]
                codes = slice(way.first, way.first + way.channel.output_count)
                decoded[place, codes] = self.size / way.count * signs / response
        return decoded
