"""How users are numbered anew: the partitions one after the other, in each its users by their original numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        """How many partitions there are."""
        return len(self.first) - 1

    def users(self, partition: int) -> NDArray[np.int64]:
        """The original numbers of a partition's users, in shard order."""
        return self.order[int(self.first[partition]) : int(self.first[partition + 1])]
