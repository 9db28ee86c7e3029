"""Fewer columns: the truncated SVD of a table of users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError

# Rows that are multiplied in double precision at once.
BLOCK = 4096


def check_dims(dims: Any) -> None:
    """Refuse a number of columns that no table could have."""
    if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
        raise InputError(f"dims must be an integer of at least 1, got {dims!r}")


def reduce_columns(values: NDArray[np.float32], dims: int) -> NDArray[np.float32]:
    """The rows in the coordinates of the ``dims`` largest singular values, the largest first.

    The right singular vectors are eigenvectors of the columns' products, summed in double precision; each has its largest
    entry positive, so that nothing about the result is left to chance.

    >>> reduce_columns(np.array([[3, 4], [6, 8]], dtype=np.float32), 1).tolist()
    [[5.0], [10.0]]
    """
    check_dims(dims)
    most = min(values.shape)
    if dims > most:
        rows, columns = values.shape
        raise InputError(
            f"this embedding has {rows} rows and {columns} columns, which cannot be reduced to {dims} dims: "
            f"give at most {most}"
        )
    from scipy.linalg import eigh

    columns = values.shape[1]
    products = np.zeros((columns, columns))
    for block in _blocks(values):
        products += block.T @ block
    vectors = eigh(products, subset_by_index=(columns - dims, columns - 1))[1][:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(dims)]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)
    return np.concatenate([(block @ vectors).astype(np.float32) for block in _blocks(values)])


def _blocks(values: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(values), BLOCK):
        yield values[start : start + BLOCK].astype(np.float64)
