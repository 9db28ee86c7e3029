"""How many neighbours pairs of users have in common, counted along the links alone: no list of all pairs is made."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def common_neighbours(
    indptr: Numbers, indices: NDArray[np.int32], answering: Numbers, both: bool
) -> tuple[Numbers, Numbers]:
    """For each linked pair (larger number first, in the order of the rows) its common neighbours; and how many answers are about pairs
    that have so many, for numbers from 1 on.

    ``indptr`` and ``indices`` are the links of n users in both directions, sorted. ``answering`` is 1 for users who answer; about a pair
    there are the answers of the user with the larger number, or of both. The work is the sum of the squares of all degrees.
    """
    degrees = np.diff(indptr)
    # Two users have no more neighbours in common than the second busiest user has.
    most = int(np.sort(degrees)[-2]) if len(degrees) > 1 else 0
    common, totals = _count(indptr, indices, answering, both, most + 1)
    return common, totals


@numba.njit(cache=True, nogil=True)
def _count(indptr: Any, indices: Any, answering: Any, both: bool, size: int) -> Any:
    users = len(indptr) - 1
    seen, reached = np.zeros(users, dtype=np.int64), np.empty(users, dtype=np.int32)
    common, totals = np.empty(len(indices) // 2, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pair = 0
    for user in range(users):
        count = 0
        for place in range(indptr[user], indptr[user + 1]):
            middle = indices[place]
            for step in range(indptr[middle], indptr[middle + 1]):
                other = indices[step]
                if other >= user:
                    break
                if seen[other] == 0:
                    reached[count] = other
                    count += 1
                seen[other] += 1
        for place in range(indptr[user], indptr[user + 1]):
            other = indices[place]
            if other >= user:
                break
            common[pair] = seen[other]
            pair += 1
        for place in range(count):
            other = reached[place]
            answers = answering[user] + answering[other] if both else answering[user]
            totals[seen[other]] += answers
            seen[other] = 0
    return common, totals
