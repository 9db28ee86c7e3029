"""Propagate once, in blocks of columns: for a step after the hops that is not linear."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from graphveil.linear.polynomial import Polynomial
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import Estimate

# A block, its sum so far and one product are a quarter of the whole matrix at most, and never more than so many columns.
BLOCK_SHARE, BLOCK_COLUMNS = 1 / 12, 128
# How many users `after` is applied to at once.
ROWS_AT_ONCE = 1024
# Below this share of entries that are left, the result is kept sparse: an entry takes up to ten times the room there,
# while it is put together.
SPARSE_DENSITY = 0.1


def propagated_once(
    estimate: Estimate,
    hops: Polynomial,
    after: Callable[[Tensor], Tensor],
    device: torch.device | str = "cpu",
) -> SparseMatrix | Tensor:
    """after(hops @ X), for decoded reports X (offset aside), as a matrix of its own; ``after`` works entry by entry.

    Sparse where few entries are left, else dense: users x features numbers, and at most half as many on the way. Which it
    will be is decided on the first block; reports of all features look alike, since each user draws which to answer.
    """
    blocks = _blocks(estimate, hops, after, device)
    start, block = next(blocks)
    if float(np.count_nonzero(block.cpu().numpy())) / block.numel() < SPARSE_DENSITY:
        return _sparse(estimate.shape, block, blocks)
    whole = torch.empty(estimate.shape, device=device)
    whole[:, start : start + block.shape[1]] = block
    for start, block in blocks:
        whole[:, start : start + block.shape[1]] = block
    return whole


def _blocks(
    estimate: Estimate, hops: Polynomial, after: Callable[[Tensor], Tensor], device: torch.device | str
) -> Iterator[tuple[int, Tensor]]:
    """Blocks of columns of the result, and where each starts. A block is overwritten by the next but one.

    All blocks share their room: taken and given back for each, it would be scattered and not be found again.
    """
    users, features = estimate.shape
    width = max(1, min(BLOCK_COLUMNS, int(features * BLOCK_SHARE)))
    fill = _filler(estimate)
    for start in range(0, features, width):
        columns = min(width, features - start)
        if start == 0 or columns < width:
            entries, total, spare = (torch.zeros((users, columns), device=device) for _ in range(3))
        entries.zero_()
        fill(entries, start)
        block = hops.into(entries, total, spare)
        for rows in block.split(ROWS_AT_ONCE):
            rows.copy_(after(rows))
        yield start, block


def _filler(estimate: Estimate) -> Callable[[Tensor, int], None]:
    """How to write columns of the estimate into a block of zeros."""
    indices = estimate.indices
    if indices is None:
        rows = estimate.values.reshape(estimate.shape)

        def fill_dense(block: Tensor, start: int) -> None:
            block.copy_(torch.from_numpy(rows[:, start : start + block.shape[1]]))

        return fill_dense
    owners = np.repeat(np.arange(estimate.shape[0]), np.diff(estimate.indptr))
    order = np.argsort(indices, kind="stable")
    columns = indices[order]

    def fill_sparse(block: Tensor, start: int) -> None:
        here = order[slice(*np.searchsorted(columns, [start, start + block.shape[1]]))]
        values = torch.from_numpy(estimate.values[here]).to(block)
        block[torch.from_numpy(owners[here]), torch.from_numpy(indices[here] - start).long()] = values

    return fill_sparse


def _sparse(shape: tuple[int, int], block: Tensor, blocks: Iterator[tuple[int, Tensor]]) -> SparseMatrix:
    """All blocks, from the first one on, as one sparse matrix, put together by columns."""
    counts, owners, values = [], [], []

    def add(block: Tensor) -> None:
        rows = block.cpu().numpy()
        columns, users = np.nonzero(rows.T)
        counts.append(np.bincount(columns, minlength=rows.shape[1]))
        owners.append(users.astype(np.int32))
        values.append(rows[users, columns])

    add(block)
    for _, later in blocks:
        add(later)
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(counts))])
    by_column = SparseMatrix.from_csr(
        pointers, np.concatenate(owners), np.concatenate(values), (shape[1], shape[0]), device=block.device
    )
    return by_column.transposed
