"""The distributed twin of `SparseMatrix`: each worker has the rows of its own users, and fetches those of their neighbours."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.linear.halo import Halo
from graphveil.linear.sparse import SparseMatrix, csr_tensor

Floats = NDArray[np.float64]
# Entries whose values are computed at a time, so that building a matrix takes little more than the matrix.
AT_ONCE = 1 << 24


class PartedMatrix(SparseMatrix):
    """A worker's rows of a matrix over all users, n x n for its n users: ``matrix @ dense`` takes and gives their rows.

    Entries are left_i · right_j along the links of the graph. Before a product the rows of neighbours elsewhere are asked for
    (n' x k numbers for n' neighbours and k columns), and while they travel, the rows of the worker's own users are multiplied.
    The links lead both ways, so that the transpose has its entries in the same places: it is right_i · left_j, and a gradient
    travels as a product does.
    """

    def __init__(self, own: Tensor, far: Tensor, halo: Halo, turned: tuple[Tensor, Tensor]) -> None:
        super().__init__(own, turned[0])
        self._far, self._turned, self.halo = far, turned, halo

    @property
    def transposed(self) -> PartedMatrix:
        """The transpose, which shares its memory with this matrix."""
        own, far = self._turned
        return PartedMatrix(own, far, self.halo, (self._forward, self._far))

    @property
    def entry_count(self) -> int:
        """How many entries this worker stores."""
        return int(self._forward.values().numel() + self._far.values().numel())

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        if out is None:
            out = dense.new_empty((self.shape[0], dense.shape[1]))
        return self._add(dense, out, 0.0, 1.0, out)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        return self._add(dense, added, weight, 1.0, torch.empty_like(added) if out is None else out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return self._add(dense, out, scale, weight, out)

    def _add(self, dense: Tensor, added: Tensor, scale: float, weight: float, out: Tensor) -> Tensor:
        """scale·added + weight·(matrix @ dense)."""
        fetched = self.halo.fetch(dense)
        torch.addmm(added, self._forward, dense, beta=scale, alpha=weight, out=out)
        rows = fetched.rows()
        if self._far.values().numel():
            torch.addmm(out, self._far, rows, alpha=weight, out=out)
        return out

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges are not dropped where each worker holds a part of the graph")

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


def parted_matrix(
    part: GraphPart,
    left: Floats,
    right: Floats,
    *,
    loops: NDArray[np.bool_] | None = None,
    dtype: torch.dtype = torch.float32,
) -> PartedMatrix:
    """left_i · right_j along the links of a part, and at the loops of those users who have one; a number a user each."""
    halo = Halo(part)
    scales = torch.from_numpy(np.stack([left, right], axis=1))
    seen = torch.cat([scales, halo.fetch(scales).rows()]).numpy()
    pattern = _Pattern(part, loops)
    own, far = pattern.tensors(seen[:, 0], seen[:, 1], dtype)
    turned = (own, far) if left is right else pattern.tensors(seen[:, 1], seen[:, 0], dtype)
    return PartedMatrix(own, far, halo, turned)


class _Pattern:
    """Where the entries of a worker's rows are: among its own users, and among those that others hold."""

    def __init__(self, part: GraphPart, loops: NDArray[np.bool_] | None) -> None:
        n = part.node_count
        near = part.indices < n
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(near)])[part.indptr]
        self.far_starts = part.indptr - starts
        self.far = (part.indices[~near] - n).astype(np.int32)
        self.own = part.indices[near]
        self.own_starts = starts
        if loops is not None:
            who = np.flatnonzero(loops)
            rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(starts))
            # Behind all neighbours with smaller numbers in the same row.
            before = starts[:-1] + np.bincount(rows[self.own < rows], minlength=n)
            self.own = np.insert(self.own, before[who], who.astype(np.int32))
            self.own_starts = starts + np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(loops)])
        self.users, self.others = n, len(part.halo)

    def tensors(self, left: Floats, right: Floats, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The entries left_i · right_j; ``left`` and ``right`` have a number for each user that the part sees."""
        own = _values(self.own_starts, self.own, left, right[: self.users], dtype)
        far = _values(self.far_starts, self.far, left, right[self.users :], dtype)
        return (
            csr_tensor(self.own_starts, self.own, own, (self.users, self.users)),
            csr_tensor(self.far_starts, self.far, far, (self.users, self.others)),
        )


def _values(
    starts: NDArray[np.int64], columns: NDArray[np.int32], left: Floats, right: Floats, dtype: torch.dtype
) -> Tensor:
    """left_i · right_j for the entries of some rows, a part of the rows at a time."""
    values = torch.empty(len(columns), dtype=dtype)
    rows, begin = len(starts) - 1, 0
    while begin < rows:
        end = int(np.searchsorted(starts, starts[begin] + AT_ONCE, side="right")) - 1
        end = min(max(end, begin + 1), rows)
        here = slice(int(starts[begin]), int(starts[end]))
        scale = np.repeat(left[begin:end], np.diff(starts[begin : end + 1]))
        values[here] = torch.from_numpy(scale * right[columns[here]])
        begin = end
    return values
