"""Links of a sharded graph: whole in memory or in a file, and those of a partition in row groups of whole users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.tables import TableFile, writing_table
from graphveil.mechanisms.reports import gathered
from graphveil.scale.manifest import AGAIN

# Entries of a row group, about: 16 MB a column.
GROUP = 4_000_000

Pointers = NDArray[np.int64]
Targets = NDArray[np.int32]
# From row, to row, and the neighbours of all users between.
Block = tuple[int, int, Targets]


def whole_rows(pointers: Pointers, most: int) -> Iterator[tuple[int, int]]:
    """Rows one after the other, so many at a time that they have at most ``most`` entries; a longer row stands alone.

    >>> list(whole_rows(np.array([0, 2, 4, 9, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 5)]
    """
    begin, rows = 0, len(pointers) - 1
    while begin < rows:
        end = int(np.searchsorted(pointers, pointers[begin] + most, side="right")) - 1
        end = min(max(end, begin + 1), rows)
        yield begin, end
        begin = end


def taking(chunks: Iterator[Targets]) -> Callable[[int], Targets]:
    """A function that returns the next so many of all targets, which come in chunks of any size."""
    rest = np.empty(0, dtype=np.int32)

    def take(count: int) -> Targets:
        nonlocal rest
        parts = [rest]
        while sum(map(len, parts)) < count:
            parts.append(next(chunks))
        joined = np.concatenate(parts)
        rest = joined[count:]
        return joined[:count]

    return take


def write_edges(
    file: Path, first: int, pointers: Pointers, take: Callable[[int], Targets], group: int = GROUP
) -> int:
    """Write the links of consecutive users; return how many lead to other users than these.

    Parameters
    ----------
    file
        The file to write.
    first
        The number of the first user.
    pointers
        The row pointers of these users, (users + 1,) int64.
    take
        A function that returns the next so many neighbours, sorted for each user.
    group
        The most entries of a row group; a user with more has one alone.
    """
    cut, end_user = 0, first + len(pointers) - 1
    with writing_table(file, plain=True) as write:
        for begin, end in whole_rows(pointers, group):
            found = take(int(pointers[end] - pointers[begin]))
            cut += int(((found < first) | (found >= end_user)).sum())
            owners = np.arange(first + begin, first + end, dtype=np.int32)
            sources = np.repeat(owners, np.diff(pointers[begin : end + 1]))
            if found.size or begin == 0:
                write({"source": sources, "target": found})
        if len(pointers) == 1:
            write({"source": np.empty(0, np.int32), "target": np.empty(0, np.int32)})
    return cut


def check_order(file: Path, first: int, pointers: Pointers, targets: Targets) -> None:
    """Refuse neighbours of consecutive users that are not sorted, are repeated, or are the user.

    Parameters
    ----------
    file
        The file, for errors.
    first
        The number of the first user.
    pointers
        The row pointers of these users, (users + 1,) int64.
    targets
        Their neighbours.
    """
    falls = np.diff(targets) <= 0
    # From the last neighbour of one user to the first one of the next, numbers may fall.
    ends = pointers[1:-1] - pointers[0]
    falls[ends[(ends > 0) & (ends < len(targets))] - 1] = False
    if falls.any():
        raise InputError(f"{file} is damaged: each user's links must be in ascending order; {AGAIN}")
    owners = np.arange(first, first + len(pointers) - 1, dtype=np.int32)
    if (np.repeat(owners, np.diff(pointers)) == targets).any():
        raise InputError(f"{file} is damaged: it has a link to oneself; {AGAIN}")


def renumbered(
    indptr: Pointers, indices: NDArray[np.integer], users: NDArray[np.int64], number: NDArray[np.integer]
) -> tuple[Pointers, Targets]:
    """Return the links of some users with other numbers: row pointers, and neighbours in ascending order.

    Parameters
    ----------
    indptr, indices
        The links of all users in CSR form.
    users
        The rows to take, in this order: (rows,) int64.
    number
        The new number of each user: (users,).

    >>> renumbered(np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0]), np.array([0, 2]), np.array([5, 9, 7]))
    (array([0, 2, 3]), array([7, 9, 5], dtype=int32))
    """
    pointers, at = gathered(indptr, users)
    # One number for both ends: sorted, it is by user and then by neighbour.
    codes = np.repeat(np.arange(len(users)), np.diff(pointers)) << 32
    codes |= number[indices[at]]
    codes.sort()
    return pointers, (codes & 0xFFFFFFFF).astype(np.int32)


def edge_blocks(file: Path, pointers: Pointers, users: int) -> Iterator[Block]:
    """Yield the links of a partition, one row group at a time; blocks together are all of its rows, in order.

    Parameters
    ----------
    file
        The file of its links.
    pointers
        The row pointers of its users, (users + 1,) int64.
    users
        The number of users in all partitions.
    """
    table = TableFile(file, AGAIN)
    table.check_rows(int(pointers[-1]))
    rows, begin, entries = len(pointers) - 1, 0, 0
    groups = [group for group, size in enumerate(table.groups) if size]
    for group in groups:
        entries += table.groups[group]
        end = rows if group == groups[-1] else int(np.searchsorted(pointers, entries))
        if pointers[end] != entries:
            raise InputError(f"{file} is damaged: a row group ends within a user's links; {AGAIN}")
        targets = table.array("target", np.int32, group)
        if targets.size and not 0 <= int(targets.min()) <= int(targets.max()) < users:
            raise InputError(f"{file} is damaged: it links to users that are not there; {AGAIN}")
        yield begin, end, targets
        begin = end
    if rows and not groups:
        yield 0, rows, np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Row pointers of all users, and their neighbours: both directions, sorted, without self-loops or repeats.

    The neighbours are an array, or a file of 32-bit integers that is never read as a whole.
    """

    indptr: NDArray[np.int64]
    indices: Targets | Path

    @property
    def users(self) -> int:
        """The number of users."""
        return len(self.indptr) - 1

    @property
    def entries(self) -> int:
        """The number of neighbours of all users together."""
        return int(self.indptr[-1])

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbours of each user, (users,) int64."""
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
