"""Where random 64-bit words come from.

A client draws from the operating system; a simulation may draw from a seeded counter-based generator, and must say so.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import is_whole
from graphveil.errors import InputError

WordArray = NDArray[np.uint64]
# The largest seed: numpy takes any, torch those of 64 bits.
MAX_SEED = (1 << 64) - 1


class Words(ABC):
    """A source of independent, uniform 64-bit words."""

    @abstractmethod
    def take(self, count: int) -> WordArray:
        """The next ``count`` words."""

    def below(self, bound: NDArray[np.int64] | int, count: int) -> NDArray[np.int64]:
        """``count`` integers, exactly uniform on 0..bound-1; the words used do not depend on anything private."""
        given = np.asarray(bound)
        if given.dtype.kind not in "iu" or (given.size and int(given.min()) < 1):
            raise InputError(f"bound must be an integer of at least 1, got {bound!r}")
        bounds = np.broadcast_to(given.astype(np.uint64), (count,))
        # 2^64 mod bound words at the low end would make small results likelier: draw those again.
        unfair = (np.uint64(0) - bounds) % bounds
        words = self.take(count)
        again = np.flatnonzero(words < unfair)
        while again.size:
            words[again] = self.take(again.size)
            again = again[words[again] < unfair[again]]
        return (words % bounds).astype(np.int64)


class SystemWords(Words):
    """The operating system's cryptographic generator: what a client uses. It takes no seed.

    >>> SystemWords().take(3).dtype
    dtype('uint64')
    """

    def __init__(self, *seed: Any, **refused: Any) -> None:
        if seed or refused:
            raise InputError(
                f"the operating system's generator takes no {', '.join(refused) or 'seed'}: "
                "a seed would make reports predictable; use SeededWords(seed) in a simulation"
            )

    def take(self, count: int) -> WordArray:
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)

    def __repr__(self) -> str:
        return "SystemWords()"


class SeededWords(Words):
    """A counter-based generator (Philox) for simulations: the same seed and stream give the same words.

    >>> int(SeededWords(0).take(1)[0]) == int(SeededWords(0).take(1)[0])
    True
    """

    def __init__(self, seed: int, *stream: int) -> None:
        numbers = (seed, *stream)
        if not all(is_whole(number) and number >= 0 for number in numbers):
            raise InputError(f"seed and stream must be integers of at least 0, got {numbers}")
        if any(number > MAX_SEED for number in numbers):
            raise InputError("seed and stream must be integers of at most 64 bits: take smaller ones")
        self.seed = int(seed)
        self.stream = tuple(int(number) for number in stream)
        self._generator = np.random.Philox(np.random.SeedSequence(self.seed, spawn_key=self.stream))

    def take(self, count: int) -> WordArray:
        words: WordArray = self._generator.random_raw(count)
        return words

    def __repr__(self) -> str:
        return f"SeededWords({', '.join(map(str, (self.seed, *self.stream)))})"


class DrawnWords(Words):
    """Words that have been drawn already, each given out once."""

    def __init__(self, drawn: WordArray) -> None:
        self._drawn = drawn

    def take(self, count: int) -> WordArray:
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken
