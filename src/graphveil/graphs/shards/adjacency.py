"""The links of a whole graph in original numbering, in memory or in a file, read some entries at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.shards.edges_file import GROUP, Block, Targets, whole_rows


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Row pointers of all users, and their neighbours: both directions, sorted, without self-loops or repeats.

    The neighbours are an array, or a file of 32-bit integers that is never read as a whole.
    """

    indptr: NDArray[np.int64]
    indices: Targets | Path

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.indptr) - 1

    @property
    def entries(self) -> int:
        """How many neighbours all users have together."""
        return int(self.indptr[-1])

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each user has."""
        return np.diff(self.indptr)

    def targets(self, begin: int, end: int) -> Targets:
        """Entries from ``begin`` to before ``end``."""
        if not isinstance(self.indices, Path):
            return self.indices[begin:end]
        size = np.dtype(np.int32).itemsize
        return np.fromfile(self.indices, np.int32, end - begin, offset=size * begin)

    def blocks(self, most: int = GROUP) -> Iterator[Block]:
        """All rows in order, so many at a time that they have at most ``most`` entries."""
        for begin, end in whole_rows(self.indptr, most):
            yield begin, end, self.targets(int(self.indptr[begin]), int(self.indptr[end]))
