"""The sizes that an audit walks through: numbers of values, budgets, values asked, and users of a call.

Some are landmarks, where programs like to change their ways (powers of two and of ten, and their neighbours); the others are
drawn by the audit's own randomness, so that no mechanism knows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from graphveil.channels.sampling import Words

LARGEST_DIMS, BUDGETS, LARGEST_CALL = 4096, (0.01, 12.0), 1_000_000

DIMS = (
    *(1, 2, 3, 5, 8, 16, 31, 32, 33, 59, 60, 61, 64, 100, 127, 128, 129),
    *(255, 256, 257, 512, 1000, 1024, 2048, 4095, 4096),
)
QUICK_DIMS = (1, 60, 257, 1000)
EPSILONS = (0.01, 0.02, 0.04, 0.1, 0.25, 0.5, 2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 7.0, 8.0, 8.5, 10.0, 12.0)
QUICK_EPSILONS = (0.04, 8.5)
# (d, m): how many of how many values are asked.
SAMPLED = ((33, 16), (64, 33), (100, 17), (1000, 100), (4096, 64))
QUICK_SAMPLED = ((100, 17),)
CALLS = (
    *range(1, 18),
    *(31, 32, 33, 63, 64, 65, 99, 100, 101, 127, 128, 129, 255, 256, 257, 511, 513, 999, 1000, 1001),
    *(1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 9999, 10_000, 10_001, 16_383, 16_385, 32_769),
    *(65_535, 65_536, 65_537, 100_000, 100_001, 131_073, 200_001, 262_144, 262_145, 500_001, 524_289),
    *(1_000_000, 1_000_003),
)
QUICK_CALLS = (1, 2, 3, 4, 7, 16, 33, 65, 100, 257, 1000, 4097, 10_001, 65_537, 262_147)
# Calls whose users' noise is compared at all distances.
NOISE_COMPARED = (262_145, 262_147, 1_000_003)
# Calls in which users hold different rows.
MIXED_CALLS, QUICK_MIXED_CALLS = (4099, 65_537, 262_147), (4099,)


@dataclass(frozen=True)
class Schedule:
    """What is walked through: numbers of values, budgets, both at once (settings), and numbers of users in one call."""

    dims: tuple[int, ...]
    epsilons: tuple[float, ...]
    sampled: tuple[tuple[int, int], ...]
    mixed: tuple[dict[str, Any], ...]
    calls: tuple[int, ...]
    mixed_calls: tuple[int, ...]
    quick: bool

    @classmethod
    def of(cls, quick: bool, words: Words) -> Self:
        """The landmarks and what is drawn besides, in increasing order."""
        chance = np.random.default_rng(words.take(4))
        octaves = range(6, 7) if quick else range(2, 12)
        dims = [int(chance.integers(1 << octave, 2 << octave)) for octave in octaves]
        count = 1 if quick else 4
        epsilons = [_between(chance, *BUDGETS) for _ in range(count)]
        calls = [int(_between(chance, 1000, 1 << 16 if quick else LARGEST_CALL)) for _ in range(count)]
        mixed = []
        for _ in range(count if quick else 2 * count):
            size = int(_between(chance, 2, 512 if quick else LARGEST_DIMS))
            sampled = int(_between(chance, 1, size + 1))
            mixed.append({"dims": size, "sampled": sampled, "epsilon": _between(chance, *BUDGETS)})
        return cls(
            tuple(sorted({*(QUICK_DIMS if quick else DIMS), *dims})),
            tuple(sorted({*(QUICK_EPSILONS if quick else EPSILONS), *epsilons})),
            QUICK_SAMPLED if quick else SAMPLED,
            tuple(mixed),
            tuple(sorted({*(QUICK_CALLS if quick else CALLS), *calls})),
            QUICK_MIXED_CALLS if quick else MIXED_CALLS,
            quick,
        )


def _between(chance: np.random.Generator, low: float, high: float) -> float:
    """A number that is as likely in each octave."""
    return float(f"{math.exp(chance.uniform(math.log(low), math.log(high))):.4g}")
