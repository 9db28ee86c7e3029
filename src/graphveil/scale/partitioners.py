"""The assignment of users to partitions, and their new numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.plugins import unknown_name
from graphveil.scale.edges import Adjacency


@dataclass(frozen=True, eq=False)
class Layout:
    """``order`` are original numbers in shard order, ``number`` the shard number of each original user.

    Partition p has the shard numbers from ``first[p]`` to before ``first[p + 1]``.
    """

    order: NDArray[np.int64]
    number: NDArray[np.int32]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, assignment: NDArray[np.int32], partitions: int) -> Layout:
        """The layout where each user has that partition.

        >>> layout = Layout.of(np.array([1, 0, 1]), 2)
        >>> layout.order.tolist(), layout.number.tolist(), layout.first.tolist()
        ([1, 0, 2], [1, 0, 2], [0, 1, 3])
        """
        order = np.argsort(assignment, kind="stable")
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        sizes = np.bincount(assignment, minlength=partitions)
        return cls(order, number, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.first) - 1

    def users(self, partition: int) -> NDArray[np.int64]:
        """The original numbers of a partition's users, in shard order."""
        return self.order[int(self.first[partition]) : int(self.first[partition + 1])]


# Entries up to which METIS is taken: it needs about 50 bytes for each, and 10 to 20 seconds for so many.
METIS_ENTRIES = 20_000_000
# How much larger than the mean a partition may be.
IMBALANCE = 1.05
MAX_PARTITIONS = 9999
PARTITIONERS = ("auto", "metis", "stream", "ranges")
# What METIS is told, in thousandths beyond the mean.
METIS_SLACK = 30

Assignment = NDArray[np.int32]


def assign(
    adjacency: Adjacency,
    partitions: int,
    partitioner: str = "auto",
    seed: int = 0,
    fits: int = METIS_ENTRIES,
) -> tuple[Assignment, str]:
    """Return the partition of every user, (users,) int32, and the name of the partitioner that was used.

    Parameters
    ----------
    adjacency
        The links.
    partitions
        The number of partitions.
    partitioner
        One of auto, metis, stream and ranges.
    seed
        The seed of METIS.
    fits
        With auto, METIS is not used for more entries than this.
    """
    check_partitions(partitions, partitioner)
    users = adjacency.users
    if partitions == 1 or partitions >= users or partitioner == "ranges":
        return ranges(users, partitions), "ranges"
    installed = find_spec("pymetis") is not None
    if partitioner == "metis" and not installed:
        raise InputError(
            "this needs pymetis, which is not installed: pip install 'graphveil[ray]', or take --partition stream"
        )
    if partitioner == "metis" and adjacency.entries > METIS_ENTRIES:
        raise InputError(
            f"METIS takes graphs of at most {METIS_ENTRIES} entries (two for each link), this one has {adjacency.entries}: take "
            "--partition stream"
        )
    small = adjacency.entries <= min(fits, METIS_ENTRIES)
    if partitioner == "metis" or (partitioner == "auto" and installed and small):
        return balanced(_metis(adjacency, partitions, seed), partitions), "metis"
    from graphveil.scale.streaming import stream

    return stream(adjacency, partitions, most(users, partitions)), "stream"


def check_partitions(partitions: int, partitioner: str = "auto") -> None:
    """Refuse an invalid number of partitions or an unknown partitioner."""
    check_whole(partitions, "--partitions", least=1, most=MAX_PARTITIONS)
    if partitioner not in PARTITIONERS:
        raise unknown_name("partitioner", partitioner, PARTITIONERS)


def check_assignment(assignment: Assignment, users: int, partitions: int) -> Assignment:
    """Return a given assignment, which must name a partition for every user, as int32.

    Parameters
    ----------
    assignment
        The partition of each user, (users,) of integers.
    users
        The number of users.
    partitions
        The number of partitions.
    """
    check_whole(partitions, "--partitions", least=1, most=MAX_PARTITIONS)
    given = np.asarray(assignment)
    if given.shape != (users,) or given.dtype.kind not in "iu":
        raise InputError(
            f"assignment must be {users} integers, one a user, got {given.dtype} of shape {given.shape}"
        )
    if given.size and not 0 <= int(given.min()) <= int(given.max()) < partitions:
        raise InputError(
            f"assignment must name partitions 0..{partitions - 1}, got {int(given.min())}..{int(given.max())}"
        )
    return given.astype(np.int32)


def ranges(users: int, partitions: int) -> Assignment:
    """Assign equal ranges of users; some are empty where there are more partitions than users.

    >>> ranges(5, 2).tolist()
    [0, 0, 1, 1, 1]
    """
    ends = np.arange(1, partitions + 1, dtype=np.int64) * users // partitions
    return np.searchsorted(ends, np.arange(users), side="right").astype(np.int32)


def most(users: int, partitions: int) -> int:
    """Return the most users that a partition may have."""
    return max(math.floor(IMBALANCE * users / partitions), math.ceil(users / partitions))


def balanced(assignment: Assignment, partitions: int) -> Assignment:
    """The same partitions, where the last users of one that is too large have moved to the smallest."""
    limit = most(len(assignment), partitions)
    counts = np.bincount(assignment, minlength=partitions)
    if counts.max() <= limit:
        return assignment
    moved = assignment.copy()
    for partition in np.flatnonzero(counts > limit):
        for user in np.flatnonzero(moved == partition)[limit:]:
            smallest = int(counts.argmin())
            moved[user] = smallest
            counts[smallest] += 1
            counts[partition] -= 1
    return moved


def _metis(adjacency: Adjacency, partitions: int, seed: int) -> Assignment:
    import pymetis

    # METIS counts in 32 bits, and takes seeds of 31.
    options = pymetis.Options(seed=seed & 0x7FFFFFFF, ufactor=METIS_SLACK)
    pointers = adjacency.indptr.astype(np.int32)
    graph = pymetis.CSRAdjacency(pointers, adjacency.targets(0, adjacency.entries))
    _, members = pymetis.part_graph(partitions, adjacency=graph, options=options, recursive=False)
    return np.asarray(members, dtype=np.int32)
