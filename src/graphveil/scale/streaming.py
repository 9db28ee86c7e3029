"""Partitions by streaming: users come one after the other, and each joins the partition where most neighbours are.

Linear deterministic greedy (Stanton and Kliot 2012): user v goes to the partition p with the largest

    |N(v) ∩ p| · (1 - |p| / C)

where C is the most users that a partition may have; of equal ones the smallest counts. Over several passes (Nishimura and Ugander
2013) neighbours that have not come yet count where they were the last time. In memory are two numbers a user and one block of links.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from graphveil.scale.edges import Adjacency

PASSES = 10
NOWHERE = -1


def stream(adjacency: Adjacency, partitions: int, most: int, passes: int = PASSES) -> NDArray[np.int32]:
    """Return the partition of every user, (users,) int32.

    Parameters
    ----------
    adjacency
        The links.
    partitions
        The number of partitions.
    most
        The most users that a partition may have.
    passes
        The most passes over all users; it ends early when nobody moves.
    """
    assignment = np.full(adjacency.users, NOWHERE, dtype=np.int32)
    for _ in range(passes):
        before = assignment.copy()
        sizes = np.zeros(partitions, dtype=np.int64)
        for begin, end, targets in adjacency.blocks():
            pointers = adjacency.indptr[begin : end + 1] - adjacency.indptr[begin]
            _place(begin, pointers, targets, assignment, sizes, most)
        if (assignment == before).all():
            break
    return assignment


@numba.njit(cache=True, nogil=True)
def _place(first: int, pointers: Any, targets: Any, assignment: Any, sizes: Any, most: int) -> None:
    """Place the users of one block, the first of whom is user ``first``; sizes count those of this pass."""
    count = len(sizes)
    neighbours = np.zeros(count, dtype=np.int64)
    for row in range(len(pointers) - 1):
        neighbours[:] = 0
        for entry in range(pointers[row], pointers[row + 1]):
            partition = assignment[targets[entry]]
            if partition >= 0:
                neighbours[partition] += 1
        chosen, best = -1, -1.0
        for partition in range(count):
            if sizes[partition] >= most:
                continue
            score = neighbours[partition] * (1.0 - sizes[partition] / most)
            if score > best or (score == best and sizes[partition] < sizes[chosen]):
                chosen, best = partition, score
        assignment[first + row] = chosen
        sizes[chosen] += 1
