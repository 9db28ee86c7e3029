"""Exact sampling from integer tables: words of random bits and alias tables."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL_BITS, Counts
from graphveil.checks import is_whole
from graphveil.errors import InputError

WordArray = NDArray[np.uint64]
# The largest seed: numpy takes any, torch those of 64 bits.
MAX_SEED = (1 << 64) - 1


class RandomBits(ABC):
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


class SystemBits(RandomBits):
    """The operating system's cryptographic generator: what a client uses. It takes no seed.

    >>> SystemBits().take(3).dtype
    dtype('uint64')
    """

    def __init__(self, *seed: Any, **refused: Any) -> None:
        if seed or refused:
            raise InputError(
                f"the operating system's generator takes no {', '.join(refused) or 'seed'}: "
                "a seed would make reports predictable; use SeededBits(seed) in a simulation"
            )

    def take(self, count: int) -> WordArray:
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)

    def __repr__(self) -> str:
        return "SystemBits()"


class SeededBits(RandomBits):
    """A counter-based generator (Philox) for simulations: the same seed and stream give the same words.

    >>> int(SeededBits(0).take(1)[0]) == int(SeededBits(0).take(1)[0])
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
        return f"SeededBits({', '.join(map(str, (self.seed, *self.stream)))})"


class DrawnBits(RandomBits):
    """Words that have been drawn already, each given out once."""

    def __init__(self, drawn: WordArray) -> None:
        self._drawn = drawn

    def take(self, count: int) -> WordArray:
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken


# Words a block: 128 KiB of them stay in the second-level cache together with what is computed from them.
BLOCK = 1 << 14
# Columns that are packed together: packing takes some 80 bytes for each, the packed table at most 16.
PACKED = 1 << 18


def code_type(size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned integer type that holds 0..size-1."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


@dataclass(frozen=True)
class AliasTable:
    """Alias tables of all rows: ``cuts`` (rows·columns) and ``codes`` (rows·columns·2: own, alias)."""

    column_bits: int
    cuts: NDArray[np.uint64]
    codes: NDArray[np.unsignedinteger]

    @classmethod
    def build(cls, table: Counts) -> AliasTable:
        """Pack the rows, as many together as `PACKED` allows."""
        bits = max((table.shape[1] - 2).bit_length(), 1)
        step = max(1, PACKED >> bits)
        packed = [cls._pack(table[start : start + step], bits) for start in range(0, len(table), step)]
        cuts, codes = (np.concatenate(parts) for parts in zip(*packed, strict=True))
        return cls(bits, cuts, codes)

    @staticmethod
    def _pack(table: Counts, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.unsignedinteger]]:
        """The cuts and codes of some rows, all at once: step i closes one column of every row."""
        rows, outputs = table.shape
        columns = 1 << bits
        height = 1 << (TOTAL_BITS - bits)
        # Always one output more than columns, some of them empty: then every step finds a column to close.
        mass = np.zeros((rows, columns + 1), dtype=np.int64)
        mass[:, :outputs] = table
        # Stable order: the outputs that do not fill a column first, then the others.
        order = np.argsort(mass >= height, axis=1, kind="stable")
        next_giver = (mass < height).sum(axis=1)
        next_lacking = np.ones(rows, dtype=np.int64)
        every = np.arange(rows)
        active = order[:, 0]
        own, alias, level = (np.empty((rows, columns), dtype=np.int64) for _ in range(3))
        for column in range(columns):
            # Where nobody has a column's worth left, any two together have one: what all lack adds up to one column.
            rich = next_giver <= columns
            giver = order[every, np.where(rich, next_giver, np.minimum(next_lacking, columns))]
            own[:, column], alias[:, column], level[:, column] = active, giver, mass[every, active]
            mass[every, giver] -= height - level[:, column]
            poor = mass[every, giver] < height
            active = np.where(poor, giver, order[every, np.minimum(next_lacking, columns)])
            next_giver += poor & rich
            next_lacking += ~(poor & rich)

        cuts = (np.arange(columns, dtype=np.uint64) << np.uint64(64 - bits)) + (level.astype(np.uint64) << 2)
        codes = np.stack([alias, own], axis=2).astype(code_type(outputs))
        return cuts.ravel(), codes.ravel()

    def draw(self, symbols: NDArray[np.integer], words: WordArray) -> NDArray[np.unsignedinteger]:
        """One code a symbol from one word a symbol; at most a block of them."""
        slot = (words >> np.uint64(64 - self.column_bits)).view(np.int64)
        slot += symbols.astype(np.int64, copy=False) << self.column_bits
        below = words < self.cuts.take(slot)
        slot <<= 1
        slot += below
        drawn: NDArray[np.unsignedinteger] = self.codes.take(slot)
        return drawn

    def shares(self, row: int, outputs: int) -> list[int]:
        """Return the counts that the table really draws, out of 2^62, by column; for checks."""
        columns, height = 1 << self.column_bits, 1 << (TOTAL_BITS - self.column_bits)
        mask = (1 << (64 - self.column_bits)) - 1
        counts = [0] * outputs
        for column in range(columns):
            slot = row * columns + column
            level = (int(self.cuts[slot]) & mask) >> 2
            for code, share in ((self.codes[2 * slot + 1], level), (self.codes[2 * slot], height - level)):
                if share:
                    counts[int(code)] += share
        return counts


# What version 0.1 called them.
SeededWords, SystemWords = SeededBits, SystemBits
