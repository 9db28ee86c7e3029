"""Weighted inner products of long rows: the Hadamard product of two users' embeddings times weights.

Compiled, because a product of many pairs and thousands of columns must not be written to memory in between.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


def weighted_products(
    rows: NDArray[np.float32], pairs: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Σ_j w_j H_uj H_vj for every pair (u, v): m numbers, for rows H of n x k, m x 2 pairs and k weights.

    >>> rows = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> weighted_products(rows, np.array([[0, 1]]), np.array([1, 10], dtype=np.float32)).tolist()
    [83.0]
    """
    out = np.empty(len(pairs), dtype=np.float32)
    _products(rows, np.ascontiguousarray(pairs), weights, out)
    return out


def weights_gradient(
    rows: NDArray[np.float32], pairs: NDArray[np.int64], slopes: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Σ over pairs of slope · H_u ∘ H_v, k numbers: how a sum over pairs changes with the weights. A slope a pair."""
    out = np.zeros(rows.shape[1], dtype=np.float32)
    _gradient(rows, np.ascontiguousarray(pairs), slopes, out)
    return out


@numba.njit(fastmath=True, cache=True)
def _products(rows: Any, pairs: Any, weights: Any, out: Any) -> None:
    for place in range(len(pairs)):
        first, second = rows[pairs[place, 0]], rows[pairs[place, 1]]
        total = np.float32(0)
        for column in range(len(weights)):
            total += weights[column] * first[column] * second[column]
        out[place] = total


@numba.njit(fastmath=True, cache=True)
def _gradient(rows: Any, pairs: Any, slopes: Any, out: Any) -> None:
    for place in range(len(pairs)):
        first, second, slope = rows[pairs[place, 0]], rows[pairs[place, 1]], slopes[place]
        for column in range(len(out)):
            out[column] += slope * first[column] * second[column]
