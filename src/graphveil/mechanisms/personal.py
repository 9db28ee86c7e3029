"""What a user with a privacy level of their own holds: the level and a row of values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
