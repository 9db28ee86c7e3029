"""The distributed twin of `SparseMatrix`: each worker has the rows of its own users, and what others add to them is sent to it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart, Neighbours
from graphveil.graphs.shards.edges_file import whole_rows
from graphveil.linear.passing import Passing
from graphveil.linear.sparse import SparseMatrix, csr_tensor

Floats = NDArray[np.float64]
# Entries of a matrix that are multiplied at a time.
ENTRIES_AT_ONCE = 1 << 20


class Links:
    """Who is linked to whom in a part: ones among its own users (n x n), and what passes between them and others.

    All matrices of a part are these ones between two scales, so that there is one of it. ``exchanges`` counts products.
    """

    def __init__(self, part: GraphPart) -> None:
        assert part.near is not None
        self.near, self.passing = Ones(part.near, part.node_count), Passing(part)
        self.entries = int(part.indptr[-1])
        self.exchanges = 0

    def multiply(self, dense: Tensor, out: Tensor) -> None:
        """Write the sum over each user's neighbours, here and elsewhere, into ``out`` (both n x k for the n users who are here).

        While sums of a round travel, a share of the links among users here is multiplied.
        """
        self.exchanges += 1
        out.zero_()
        rounds = self.passing.rounds
        for number, sums in enumerate(self.passing.sums(dense)):
            self.near.add_product(dense, out, number / rounds, (number + 1) / rounds)
            sums.add_to(out)
        if not rounds:
            self.near.add_product(dense, out)


class Ones:
    """A matrix with a 1 for each neighbour of a row (n x ``columns``), of which only the neighbours are in memory, as the part has them.

    Its rows are multiplied some at a time, so that all can have the same few ones for their values.
    """

    def __init__(self, neighbours: Neighbours, columns: int) -> None:
        self._neighbours, self._columns = neighbours, columns
        self._rows = list(whole_rows(neighbours.indptr, ENTRIES_AT_ONCE))
        self._blocks: dict[torch.dtype, list[Tensor]] = {}

    def add_product(self, dense: Tensor, out: Tensor, begin: float = 0.0, end: float = 1.0) -> None:
        """Add the product with ``columns`` x k to ``out`` (n x k), of some rows alone: from one share of their blocks to another."""
        if dense.dtype not in self._blocks:
            self._blocks[dense.dtype] = self._made(dense.dtype)
        blocks = self._blocks[dense.dtype]
        for block in range(round(begin * len(blocks)), round(end * len(blocks))):
            rows = out[slice(*self._rows[block])]
            torch.addmm(rows, blocks[block], dense, out=rows)

    def _made(self, dtype: torch.dtype) -> list[Tensor]:
        starts = self._neighbours.indptr
        # A part that came from elsewhere may be one that nobody can write to, which torch does not take.
        neighbours = torch.from_numpy(np.require(self._neighbours.indices, np.int32, "W"))
        ones = torch.ones(
            max((int(starts[end] - starts[begin]) for begin, end in self._rows), default=0), dtype=dtype
        )
        blocks = []
        for begin, end in self._rows:
            own = neighbours[starts[begin] : starts[end]]
            pointers = starts[begin : end + 1] - starts[begin]
            blocks.append(csr_tensor(pointers, own, ones[: len(own)], (end - begin, self._columns)))
        return blocks


def links_of(part: GraphPart) -> Links:
    """The links of a part, made when they are first asked for."""
    if "links" not in part.made:
        part.made["links"] = Links(part)
    links: Links = part.made["links"]
    return links


class PartedMatrix(SparseMatrix):
    """A worker's rows of a matrix over all users, n x n for its n users: ``matrix @ dense`` takes and gives their rows.

    Entries are left_i · right_j along the links of the graph, and at the loops of those users who have one. A factor's rows are
    scaled by ``right`` first, and summed up over neighbours, of whom those elsewhere are summed up there (n' x k numbers travel for n'
    neighbours elsewhere and k columns); the product's rows are scaled by ``left`` in the end. Links lead both
    ways, so that the transpose has its entries in the same places, right_i · left_j: a gradient travels as a product does.
    """

    def __init__(self, links: Links, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        self.links, self._left, self._right, self._loops = links, left, right, loops

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._left)

    @property
    def device(self) -> torch.device:
        return self._left.device

    @property
    def transposed(self) -> PartedMatrix:
        """The transpose, which shares its memory with this matrix."""
        return PartedMatrix(self.links, self._right, self._left, self._loops)

    @property
    def entry_count(self) -> int:
        """How many links this worker stores."""
        return self.links.entries

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        product = self._product(dense, torch.empty_like(dense) if out is None or out is dense else out)
        return product

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        product = self._product(dense, torch.empty_like(dense) if out is None else out)
        return product.add_(added, alpha=weight)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return out.mul_(scale).add_(self._product(dense, torch.empty_like(dense)), alpha=weight)

    def _product(self, dense: Tensor, out: Tensor) -> Tensor:
        factor = dense * self._right.to(dense.dtype)
        self.links.multiply(factor, out)
        if self._loops is not None:
            out.addcmul_(factor, self._loops.to(dense.dtype))
        del factor
        return out.mul_(self._left.to(dense.dtype))

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges are not dropped where each worker holds a part of the graph")

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


def parted_matrix(
    part: GraphPart, left: Floats, right: Floats, *, loops: NDArray[np.bool_] | None = None
) -> PartedMatrix:
    """left_i · right_j along the links of a part, and at the loops of those users who have one; a number a user each."""
    rows, columns, looped = column_scales(left, right, loops)
    return PartedMatrix(links_of(part), rows, columns, looped)


def column_scales(
    left: Floats, right: Floats, loops: NDArray[np.bool_] | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Scales as columns of numbers, a row a user."""
    rows = torch.from_numpy(left[:, None].astype(np.float64))
    columns = rows if right is left else torch.from_numpy(right[:, None].astype(np.float64))
    return rows, columns, None if loops is None else torch.from_numpy(loops[:, None])
