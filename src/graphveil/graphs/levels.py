"""Privacy levels: which one each user has chosen, drawn for a simulation or read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.files import read_array, read_text
from graphveil.graphs.splits import check_seed

Levels = NDArray[np.int64]
DISTRIBUTIONS = ("uniform", "strict", "relaxed", "bimodal")
NAMED = "name a file of levels, one integer a user"
SUFFIXES = (".npy", ".csv", ".txt")


def draw_levels(users: int, levels: int, distribution: str = "uniform", seed: int = 0) -> Levels:
    """A level 1..f for each user: uniform, strict (all 1), relaxed (all f), or bimodal (half 1, half f), as PPGNN has them.

    >>> draw_levels(4, 3, "relaxed").tolist()
    [3, 3, 3, 3]
    """
    if distribution not in DISTRIBUTIONS:
        raise InputError(
            f"no distribution of levels is named {distribution!r}: choose one of {', '.join(DISTRIBUTIONS)}, "
            f"or give a file of levels ({', '.join(SUFFIXES)})"
        )
    random = np.random.default_rng([check_seed(seed), 5])
    if distribution == "uniform":
        return random.integers(1, levels + 1, users)
    if distribution == "bimodal":
        return np.where(random.permutation(users) < users // 2, 1, levels)
    return np.full(users, 1 if distribution == "strict" else levels, dtype=np.int64)


def expected_shares(levels: int, distribution: str = "uniform") -> NDArray[np.float64]:
    """Which share of users a distribution gives each level, known before anybody has chosen.

    >>> expected_shares(4, "bimodal").tolist()
    [0.5, 0.0, 0.0, 0.5]
    """
    draw_levels(0, levels, distribution)
    shares = np.zeros(levels)
    if distribution == "uniform":
        shares[:] = 1 / levels
    if distribution in ("strict", "bimodal"):
        shares[0] += 1
    if distribution in ("relaxed", "bimodal"):
        shares[-1] += 1
    return np.asarray(shares / shares.sum())


def read_levels(file: str | Path, users: int) -> Levels:
    """Levels from a file: an .npy array, or text with one integer a line (or between commas), in the order of users."""
    path = Path(file)
    if path.suffix not in SUFFIXES:
        raise InputError(f"levels are read from files that end in {', '.join(SUFFIXES)}, got {path.name!r}")
    array = read_array(path, "a list of levels", NAMED) if path.suffix == ".npy" else _numbers(path)
    if array.shape != (users,) or array.dtype.kind not in "iu":
        raise InputError(
            f"{path} must hold {users} integers, one level a user, got {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def level_source(name: str) -> str | Path:
    """A distribution by name, or the path of a file of levels."""
    return Path(name) if Path(name).suffix in SUFFIXES else name


def _numbers(path: Path) -> Levels:
    words = read_text(path, NAMED).replace(",", " ").split()
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        raise InputError(f"{path} holds something other than integers: give one level a user") from None
