"""Exact alias tables: one word, one comparison, one draw.

Every row of counts (they sum to 2^62) is packed into C = 2^c columns of equal height 2^(62-c). A column holds at
most two outputs: its own below a cut, its alias above it. C columns hold up to C+1 outputs, since the last one closes
two at once; so the 2^k+1 cells of an even grid take 2^k columns. The top c bits of a random word name the column and the
word itself is compared with the cut, which carries the column's number in its own top bits. All of it is integer
arithmetic, so the probability of every output is exactly its count over 2^62 (Walker 1977; Vose 1991).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL_BITS, Counts
from graphveil.channels.words import WordArray

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
        """What the table really draws, out of 2^62, summed up column by column; for checks."""
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
