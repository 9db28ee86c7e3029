"""Propagate once, in blocks of columns, for a step after the hops that is not linear; columns and rows that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch import Tensor

from graphveil.linear.sparse import Columns, Device, HopSeries, SparseMatrix, entries_of, write
from graphveil.mechanisms import Estimate


def with_constant(estimate: Estimate) -> Estimate:
    """An estimate (n users x d features) with one more column that is 1 for everybody: n x (d + 1), without an offset."""
    ones = np.ones((estimate.shape[0], 1))
    return _estimate(hstack([estimate.to_scipy(), ones], format="csr"), unbiased=False)


def certain_estimate(rows: Any) -> Estimate:
    """A matrix (n users x d features, dense or sparse) as an estimate without error; only what is not 0 is kept."""
    kept = csr_matrix(rows, copy=True)
    kept.sort_indices()
    kept.eliminate_zeros()
    return _estimate(kept, unbiased=True)


def _estimate(matrix: Any, *, unbiased: bool) -> Estimate:
    """The entries of a CSR matrix as an estimate without an offset."""
    pointers, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return Estimate(matrix.shape, pointers, indices, matrix.data.astype(np.float64), 0.0, unbiased)


# A block, its sum so far and one product are a quarter of the whole matrix at most, and never more than so many columns.
BLOCK_SHARE, BLOCK_COLUMNS = 1 / 12, 128
# How many users `after` is applied to at once.
ROWS_AT_ONCE = 1024
# Below this share of entries that are left, the result is kept sparse: an entry takes up to ten times the room there,
# while it is put together.
SPARSE_DENSITY = 0.1


def propagated_once(
    estimate: Estimate, hops: HopSeries, after: Callable[[Tensor], Tensor], device: Device = "cpu"
) -> SparseMatrix | Tensor:
    """Return after(hops @ X) for decoded reports X (n x d, offset aside), as a matrix of its own.

    The result is sparse where few entries are left, else dense: users x features numbers, and at most half as
    many on the way. Which it will be is decided on the first block; reports of all features look alike, since
    each user draws which to answer.

    Parameters
    ----------
    estimate
        The decoded reports X.
    hops
        The series of hops.
    after
        A function that works entry by entry.
    """

    def blocks() -> Iterator[tuple[int, Tensor]]:
        for start, _, block in propagated_blocks(estimate, hops, device):
            for rows in block.split(ROWS_AT_ONCE):
                rows.copy_(after(rows))
            yield start, block

    return gathered(estimate.shape, blocks(), device)


def propagated_blocks(
    estimate: Estimate,
    hops: HopSeries,
    device: Device,
    *,
    widest: int = BLOCK_COLUMNS,
    dtype: torch.dtype = torch.float32,
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield blocks of columns: the first column, what is reported there (n x k), and the hops on it.

    The next block overwrites both tensors. All blocks share their memory: allocated and freed for each, it
    would be fragmented.

    Parameters
    ----------
    estimate
        The decoded reports (n x d).
    hops
        The series of hops.
    widest
        The most columns of a block.
    dtype
        The type of the tensors.
    """
    users, features = estimate.shape
    width = block_width(features, widest)
    dense = estimate.values.reshape(estimate.shape) if estimate.indices is None else None
    read = column_reader(estimate)
    for start in range(0, features, width):
        columns = min(width, features - start)
        if start == 0 or columns < width:
            entries, total, spare = (
                torch.zeros(users, columns, device=device, dtype=dtype) for _ in range(3)
            )
        if dense is not None:
            entries.copy_(torch.from_numpy(dense[:, start : start + columns]))
        else:
            write(read(start, start + columns), entries.zero_())
        yield start, entries, hops.into(entries, total, spare)


def block_width(features: int, widest: int = BLOCK_COLUMNS) -> int:
    """Return the number of columns of a block."""
    return max(1, min(widest, int(features * BLOCK_SHARE)))


def column_reader(estimate: Estimate) -> Callable[[int, int], Columns]:
    """Return a function that reads columns ``start`` to before ``end`` of an estimate (offset aside), sparse."""
    indices = estimate.indices
    if indices is None:
        rows = estimate.values.reshape(estimate.shape)
        return lambda start, end: entries_of(rows[:, start:end])
    order = np.argsort(indices, kind="stable")
    owners = np.repeat(np.arange(estimate.shape[0], dtype=np.int32), np.diff(estimate.indptr))[order]
    values = estimate.values[order]
    pointers = np.append(0, np.cumsum(np.bincount(indices, minlength=estimate.shape[1])))

    def read(start: int, end: int) -> Columns:
        first, last = pointers[start], pointers[end]
        return Columns(pointers[start : end + 1] - first, owners[first:last], values[first:last])

    return read


def gathered(
    shape: tuple[int, int], blocks: Iterator[tuple[int, Tensor]], device: Device
) -> SparseMatrix | Tensor:
    """Return all blocks as one matrix: sparse where few entries of the first block are left, else dense.

    Parameters
    ----------
    shape
        The shape of the matrix.
    blocks
        The first column of each block, and the block: (n, k).
    """
    start, block = next(blocks)
    if float(np.count_nonzero(block.cpu().numpy())) / block.numel() < SPARSE_DENSITY:
        pieces = [entries_of(columns.cpu().numpy()) for _, columns in chain([(start, block)], blocks)]
        pointers = np.append(0, np.cumsum(np.concatenate([np.diff(piece.pointers) for piece in pieces])))
        owners = np.concatenate([piece.owners for piece in pieces])
        values = np.concatenate([piece.values.astype(np.float32, copy=False) for piece in pieces])
        by_column = SparseMatrix.from_csr(pointers, owners, values, (shape[1], shape[0]), device=device)
        return by_column.transposed
    whole = torch.empty(shape, device=device)
    for place, columns in chain([(start, block)], blocks):
        whole[:, place : place + columns.shape[1]] = columns
    return whole
