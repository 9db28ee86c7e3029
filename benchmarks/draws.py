"""Draws: what a code costs, against the random word that it is made of.

The reference draws as many raw 64-bit words as there are codes from the same kind of generator:
``numpy.random.Philox.random_raw`` for seeded words, ``os.urandom`` viewed as a numpy array for the operating
system's. It draws them in blocks that stay in the cache, as the channels do. In one call it would also be charged for
80 MB of fresh memory, and would seem slower than the codes made of it; that is shown as a case of its own.
Input symbols are uniform at random, which is the hardest case for the processor's caches.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from graphveil.channels import FiniteChannel, RandomBits, SeededBits, SystemBits, kary, onebit, piecewise
from graphveil.channels.sampling import BLOCK

# At most this many times as long as the raw words.
TARGET = 5.0
ONE_CALL = "the raw words in one call"
SEED = 0

Take = Callable[[int], NDArray[np.uint64]]


def channels() -> dict[str, FiniteChannel]:
    """The channels that are drawn from: a comparison, a small and a large alias table, a division."""
    return {
        "one-bit, ε = 1": onebit(1.0),
        "piecewise, ε = 1": piecewise(1.0),
        "piecewise, ε = 6": piecewise(6.0),
        "7-ary, ε = 1": kary(1.0, 7),
    }


def philox_words() -> Take:
    """Seeded words, straight from numpy."""
    return np.random.Philox(SEED).random_raw


def system_words() -> Take:
    """The operating system's words, as numpy sees them."""
    return lambda count: np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def in_blocks(take: Take, count: int) -> int:
    """Draw ``count`` words, a block at a time; how many were drawn."""
    return sum(take(min(BLOCK, count - start)).size for start in range(0, count, BLOCK))


def run(sizes: Sizes) -> list[Result]:
    """All channels with both kinds of words."""
    seeded = _compare("Philox words", philox_words(), SeededBits(SEED), sizes)
    system = _compare("system words", system_words(), SystemBits(), sizes)
    return seeded + system


def _compare(reference: str, take: Take, random_bits: RandomBits, sizes: Sizes) -> list[Result]:
    found = channels()
    generator = np.random.default_rng(SEED)
    calls: dict[str, Call] = {
        reference: lambda: in_blocks(take, sizes.draws),
        ONE_CALL: lambda: take(sizes.draws),
    }
    for case, channel in found.items():
        symbols = generator.integers(0, channel.input_count, sizes.draws)
        calls[case] = lambda channel=channel, symbols=symbols: channel.respond(symbols, random_bits)  # type: ignore[misc]
    timings = interleaved(calls, sizes.repetitions)
    return [
        Result(
            "draws",
            case,
            reference,
            "s",
            timings.best(case),
            timings.best(reference),
            None if case == ONE_CALL else TARGET,
            timings.median_ratio(case, reference),
        )
        for case in (ONE_CALL, *found)
    ]
