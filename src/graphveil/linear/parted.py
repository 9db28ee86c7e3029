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


class Links:
    """Who is linked to whom in a part: ones among its own users (n x n), and from them to others (n x n'); and how rows are fetched.

    All matrices of a part are these ones between two scales, so that there is one of it.
    """

    def __init__(self, part: GraphPart) -> None:
        assert part.near is not None and part.far is not None
        own, others = part.node_count, len(part.halo)
        self.near = _ones(part.near.indptr, part.near.indices, (own, own))
        self.far = _ones(part.far.indptr, part.far.indices, (own, others))
        self.halo = Halo(part)
        self.entries = int(part.indptr[-1])

    def of(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The ones in this precision."""
        return self.near.to(dtype), self.far.to(dtype)


def _ones(indptr: NDArray[np.int64], indices: NDArray[np.int32], shape: tuple[int, int]) -> Tensor:
    return csr_tensor(indptr, indices, torch.ones(len(indices)), shape)


def links_of(part: GraphPart) -> Links:
    """The links of a part, made when they are first asked for."""
    if "links" not in part.made:
        part.made["links"] = Links(part)
    links: Links = part.made["links"]
    return links


class PartedMatrix(SparseMatrix):
    """A worker's rows of a matrix over all users, n x n for its n users: ``matrix @ dense`` takes and gives their rows.

    Entries are left_i · right_j along the links of the graph, and at the loops of those users who have one. A factor's rows are
    scaled by ``right`` first, those that other workers need are sent (n' x k numbers for n' neighbours elsewhere and k columns),
    and while others travel here, the own ones are multiplied; the product's rows are scaled by ``left`` in the end. Links lead both
    ways, so that the transpose has its entries in the same places, right_i · left_j: a gradient travels as a product does.
    """

    def __init__(self, links: Links, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        self.links, self._left, self._right, self._loops = links, left, right, loops

    @property
    def halo(self) -> Halo:
        """Whose rows are fetched."""
        return self.links.halo

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
        near, far = self.links.of(dense.dtype)
        fetched = self.links.halo.fetch(factor)
        torch.addmm(out, near, factor, beta=0, out=out)
        if self._loops is not None:
            out.addcmul_(factor, self._loops.to(dense.dtype))
        del factor
        rows = fetched.rows()
        if far.values().numel():
            torch.addmm(out, far, rows, out=out)
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
