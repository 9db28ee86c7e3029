"""Some columns of a sparse matrix, in numpy: what goes into a push and comes out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Columns(NamedTuple):
    """Where each of k columns starts (k + 1 pointers), whose its entries are (rising), and what they are."""

    pointers: NDArray[np.int64]
    owners: NDArray[np.int32]
    values: NDArray[Any]


def entries_of(rows: NDArray[Any]) -> Columns:
    """The entries that are not 0 of a dense block (n x k), by columns."""
    columns, users = np.nonzero(rows.T)
    counts = np.bincount(columns, minlength=rows.shape[1])
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return Columns(pointers, users.astype(np.int32), rows[users, columns])


def write(columns: Columns, block: Tensor) -> None:
    """Write k sparse columns into a block of zeros (n x k)."""
    places = np.repeat(np.arange(block.shape[1]), np.diff(columns.pointers))
    values = torch.from_numpy(columns.values).to(block)
    block[torch.from_numpy(columns.owners).long(), torch.from_numpy(places)] = values
