"""Users who choose a privacy level: what they hold, and how many chose each level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_shares
from graphveil.errors import InputError
from graphveil.mechanisms.rows import listed, rectangle


class PersonalRows(NamedTuple):
    """The levels and the rows of some users; rows are an array or a sparse matrix.

    Where there is only an array, it holds a user's values and then the level, as the last column.
    """

    levels: Any
    rows: Any

    @classmethod
    def of(cls, private: Any, dimensions: int) -> PersonalRows:
        """Levels and rows from a pair of them, or from an array whose last column is the level."""
        if isinstance(private, tuple):
            if len(private) != 2:
                raise InputError(f"users hold a pair (levels, rows), got {len(private)} things")
            return cls(*private)
        array = rectangle(private)
        if array.ndim != 2 or array.shape[1] != dimensions + 1:
            raise InputError(
                f"users hold a pair (levels, rows), or an array of users x ({dimensions} values and the level), got "
                f"the shape {array.shape}"
            )
        return cls(array[:, -1], array[:, :-1])

    def check_shape(self, users: int) -> None:
        """Refuse anything but one level a row."""
        count = len(listed(self.levels, "levels"))
        if count != users:
            raise InputError(f"levels must be {users} integers, one a row, got {count}")

    def clipped_levels(self, highest: int) -> NDArray[np.int64]:
        """The levels as integers of 1..highest: one outside counts as the nearer end, what is no number as 1."""
        levels = listed(self.levels, "levels")
        clipped: NDArray[np.int64] = np.clip(np.nan_to_num(levels, nan=1.0), 1, highest).astype(np.int64)
        return clipped


def level_of(private: Any) -> int:
    """The level of one user: the first of a pair (level, row), or the last number of an array."""
    return int(private[0]) if isinstance(private, tuple) else int(np.asarray(private)[-1])


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
