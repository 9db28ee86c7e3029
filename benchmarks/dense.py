"""The reference for reports: multi-bit on a dense matrix, as one writes it first."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def dense_multibit(
    rows: Floats, sampled: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Multi-bit reports of rows in [0, 1]: ±1 at ``sampled`` random places of every row, 0 elsewhere.

    A random matrix whose largest entries of a row choose the places, then a coin for every entry of the matrix, asked
    for or not, all in float32 (Sajadmanesh and Gatica-Perez 2021). Each matrix is freed as soon as it has been used.
    """
    asked = _largest(generator.random(rows.shape, dtype=np.float32), sampled)
    heads = generator.random(rows.shape, dtype=np.float32) < _chances(rows, epsilon / sampled)
    return asked * (2 * heads.astype(np.float32) - 1)


def _largest(keys: Floats, count: int) -> NDArray[np.bool_]:
    """Where the ``count`` largest entries of every row are."""
    first = keys.shape[1] - count
    places = np.argpartition(keys, first, axis=1)[:, first:]
    mask = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(mask, places, True, axis=1)
    return mask


def _chances(rows: Floats, epsilon: float) -> Floats:
    """P[+1 | x] = (x(e^ε-1)+1)/(e^ε+1)."""
    power = math.exp(epsilon)
    return (rows * (power - 1) + 1) / (power + 1)
