"""How many users chose each privacy level, estimated from levels that were randomized."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_shares
from graphveil.errors import InputError

ITERATIONS, CLOSE = 300, 1e-9

Floats = NDArray[np.float64]


def estimate_level_shares(counts: Any, transition: Any, iterations: int = ITERATIONS) -> Floats:
    """The most likely shares of the true levels, given how often each randomized level was seen; by EM.

    ``transition`` holds the probability of each randomized level (column) for each true one (row). From equal shares s
    each step sets s_i = Σ_j n_j/n · s_i P_ij / Σ_k s_k P_kj, until no share moves by more than 1e-9 or for so many steps.
    The same counts always give the same shares. Where the budget of a level is small, reports say little about shares, and
    few steps keep them near equal.

    Source: the EM of Li et al. (2020) for the square wave, without smoothing. Claim: none, it sees randomized levels only.

    >>> estimate_level_shares([30, 10], [[1, 0], [0, 1]]).tolist()
    [0.75, 0.25]
    """
    seen, table = np.asarray(counts, dtype=np.float64), np.asarray(transition, dtype=np.float64)
    if table.ndim != 2 or seen.shape != table.shape[1:] or not (seen >= 0).all():
        raise InputError(
            "counts must be numbers of at least 0, one for each column of the transition: "
            f"got {seen.shape} and {table.shape}"
        )
    shares = np.full(len(table), 1 / len(table))
    if not seen.sum():
        return shares
    seen = seen / seen.sum()
    for _ in range(iterations):
        expected = np.maximum(shares @ table, 1e-300)
        moved = shares * (table @ (seen / expected))
        moved /= moved.sum()
        done = np.abs(moved - shares).max() < CLOSE
        shares = moved
        if done:
            break
    return shares


def checked_shares(shares: Any, levels: int) -> Floats:
    """Shares of all levels that sum to 1, or an error that says what is wrong."""
    return check_shares(shares, "shares", levels, why="one a level")
