"""Products with a matrix whose entries stay on disk: some rows at a time."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.linear.parted import column_scales
from graphveil.linear.sparse import SparseMatrix, csr_tensor

Floats = NDArray[np.float64]


class StreamedMatrix(SparseMatrix):
    """left_i · right_j along the links of a graph whose edges are on disk (n x n): ``matrix @ dense`` reads them block by block.

    The rows of a factor are scaled by ``right`` first and those of the product by ``left`` in the end, so that a block needs its
    neighbours' numbers and nothing else. No more than one block is in memory, beside the factor and the product.
    """

    def __init__(self, part: GraphPart, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        assert part.blocks is not None
        self._part, self._blocks, self._left, self._right, self._loops = part, part.blocks, left, right, loops

    @property
    def shape(self) -> tuple[int, int]:
        return self._part.node_count, self._part.node_count

    @property
    def device(self) -> torch.device:
        return self._left.device

    @property
    def transposed(self) -> StreamedMatrix:
        """The transpose: links lead both ways, so that it has its entries in the same places."""
        return StreamedMatrix(self._part, self._right, self._left, self._loops)

    @property
    def entry_count(self) -> int:
        return int(self._part.indptr[-1])

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        product = dense.new_empty(dense.shape) if out is None else out
        return self._add(dense, product, 0.0, 1.0, product)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        return self._add(dense, added, weight, 1.0, torch.empty_like(added) if out is None else out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return self._add(dense, out, scale, weight, out)

    def _add(self, dense: Tensor, added: Tensor, scale: float, weight: float, out: Tensor) -> Tensor:
        """scale·added + weight·(matrix @ dense), block after block of rows."""
        factor = dense * self._right.to(dense.dtype)
        starts, users = self._part.indptr, self._part.node_count
        ones = dense.new_ones(0)
        for begin, end, neighbours in self._blocks:
            if len(ones) < len(neighbours):
                ones = dense.new_ones(len(neighbours))
            pointers = starts[begin : end + 1] - starts[begin]
            block = csr_tensor(
                pointers, neighbours, ones[: len(neighbours)], (end - begin, users), trusted=True
            )
            rows = block @ factor
            if self._loops is not None:
                rows += self._loops[begin:end].to(dense.dtype) * factor[begin:end]
            rows *= weight * self._left[begin:end].to(dense.dtype)
            if scale:
                rows.add_(added[begin:end], alpha=scale)
            out[begin:end] = rows
        return out

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges that stay on disk are not dropped: load the graph into memory")

    def to_dense(self) -> Tensor:
        raise InputError("a matrix whose entries stay on disk is not made dense: load the graph into memory")


def streamed_matrix(
    part: GraphPart, left: Floats, right: Floats, *, loops: NDArray[np.bool_] | None = None
) -> StreamedMatrix:
    """left_i · right_j along the links, and at the loops of those who have one; a number a user each."""
    rows, columns, looped = column_scales(left, right, loops)
    return StreamedMatrix(part, rows, columns, looped)
