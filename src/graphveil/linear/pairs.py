"""Matrices of a graph whose links have weights, products that have a gradient for them, and inner products of pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from torch import Tensor

from graphveil.linear.sparse import CsrMatrix, Device, SparseMatrix, csr_tensor


class PairPattern:
    """The places of the entries of A + I for a fixed list of pairs of users.

    Every matrix here is an array of values for these entries. Weights have one number a pair. What is kept
    takes 12 bytes an entry, two entries a pair. Matrices are n x n, weights m numbers, and the values of a
    matrix 2m + n.

    Parameters
    ----------
    pairs
        Pairs of users, m x 2 integers.
    users
        The number of users n.

    Attributes
    ----------
    pair
        The pair that each entry belongs to (loops: one more than there are pairs).
    """

    def __init__(self, pairs: NDArray[np.integer], users: int, device: Device = "cpu") -> None:
        first, second = pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)
        loops = np.arange(users, dtype=np.int32)
        numbers = np.arange(len(pairs), dtype=np.int32)
        where = np.concatenate([first, second, loops]), np.concatenate([second, first, loops])
        which = np.concatenate([numbers, numbers, np.full(users, len(pairs), dtype=np.int32)])
        matrix = coo_array((which, where), shape=(users, users)).tocsr()
        matrix.sort_indices()
        self.users, self.size, self.device = users, len(pairs), torch.device(device)
        self.ends = torch.from_numpy(np.stack([first, second])).to(device)
        self.starts, self.columns, self.pair = (
            torch.from_numpy(array.astype(np.int32, copy=False)).to(device)
            for array in (matrix.indptr, matrix.indices, matrix.data)
        )
        self.rows = torch.repeat_interleave(
            torch.arange(users, dtype=torch.int32, device=device), self.starts.diff().long()
        )

    def degrees(self, weights: Tensor) -> Tensor:
        """The sum of the weights at every user, without the loop: n numbers."""
        degrees = torch.zeros(self.users, device=self.device)
        for end in self.ends:
            degrees = degrees.index_add(0, end, weights)
        return degrees

    def entries(self, weights: Tensor, loop: float) -> Tensor:
        """A's entries, and at every user this for the loop."""
        return torch.cat([weights, weights.new_full((1,), loop)]).index_select(0, self.pair)

    def gcn(self, weights: Tensor) -> Tensor:
        """D^-1/2 (A + I) D^-1/2, D with the loop."""
        scale = (1 + self.degrees(weights)).rsqrt()
        return self.entries(weights, 1.0) * self.at_rows(scale) * self.at_columns(scale)

    def unlooped(self, weights: Tensor) -> Tensor:
        """D^-1/2 A D^-1/2; zeros for a user without neighbours."""
        degrees = self.degrees(weights)
        scale = torch.where(degrees > 0, degrees.rsqrt(), 0.0)
        return self.entries(weights, 0.0) * self.at_rows(scale) * self.at_columns(scale)

    def mean(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """D^-1 A and its transpose; zeros for a user without neighbours."""
        degrees = self.degrees(weights)
        scale = torch.where(degrees > 0, 1 / degrees, 0.0)
        entries = self.entries(weights, 0.0)
        return entries * self.at_rows(scale), entries * self.at_columns(scale)

    def at_rows(self, numbers: Tensor) -> Tensor:
        """A number of every user, at each entry the one of its row."""
        return numbers.index_select(0, self.rows)

    def at_columns(self, numbers: Tensor) -> Tensor:
        """A number of every user, at each entry the one of its column."""
        return numbers.index_select(0, self.columns)

    def csr(self, values: Tensor) -> Tensor:
        """A matrix of these values."""
        return csr_tensor(self.starts, self.columns, values, (self.users,) * 2, self.device, trusted=True)

    def matrix(self, values: Tensor, transposed: Tensor | None = None) -> SparseMatrix:
        """A constant matrix; symmetric unless the values of its transpose are given."""
        forward = self.csr(values.detach())
        return SparseMatrix(forward, forward if transposed is None else self.csr(transposed.detach()))


class LearnedMatrix:
    """A symmetric matrix with a gradient: ``matrix @ dense`` has one for the values and for the dense factor.

    ``values`` has a number an entry of ``pattern``; a dense factor is n x k, as the product is.
    """

    def __init__(self, pattern: PairPattern, values: Tensor) -> None:
        self.pattern, self.values = pattern, values

    def __matmul__(self, dense: Tensor) -> Tensor:
        multiply: Callable[..., Tensor] = _Product.apply
        return multiply(dense, self.values, self.pattern)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, values: Tensor, pattern: PairPattern) -> Tensor:
        """Multiply a matrix of these values with ``dense``.

        Parameters
        ----------
        ctx
            What is kept for the gradient.
        dense
            The factor: (n, k).
        values
            The entries: (2m + n,).
        pattern
            Their places.
        """
        ctx.pattern = pattern
        ctx.save_for_backward(dense, values)
        return CsrMatrix(pattern.csr(values)).multiply(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor, None]:
        dense, values = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradients[0]
        # Column by column: all at once would hold as many numbers as entries times columns.
        inner = torch.zeros_like(values)
        for out, into in zip(gradient.t(), dense.t(), strict=True):
            inner.addcmul_(pattern.at_rows(out.contiguous()), pattern.at_columns(into.contiguous()))
        wanted = ctx.needs_input_grad[0]
        back = CsrMatrix(pattern.csr(values)).multiply(gradient.contiguous()) if wanted else None
        return back, inner, None


# So many pairs at once, that their rows stay in the cache.
PAIRS_AT_ONCE = 8192


class PairProducts:
    """⟨H_u, H_v⟩ for a fixed list of pairs, each once, with a gradient for H.

    ``pairs`` is m x 2, H has a row a user (n x h), and the result m numbers. The gradient is a sparse matrix of the pairs
    times H: no row is gathered or scattered for it.
    """

    def __init__(self, pairs: NDArray[np.integer], users: int, device: Device = "cpu") -> None:
        self.pattern = PairPattern(pairs, users, device)

    def __call__(self, rows: Tensor) -> Tensor:
        products: Callable[..., Tensor] = _Products.apply
        return products(rows, self.pattern)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, pattern: PairPattern) -> Tensor:
        """Multiply the rows of each pair with each other.

        Parameters
        ----------
        ctx
            What is kept for the gradient.
        rows
            H: (n, h).
        pattern
            The pairs.
        """
        ctx.pattern = pattern
        ctx.save_for_backward(rows)
        first, second = pattern.ends
        parts = zip(first.split(PAIRS_AT_ONCE), second.split(PAIRS_AT_ONCE), strict=True)
        return torch.cat([(rows.index_select(0, u) * rows.index_select(0, v)).sum(1) for u, v in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return CsrMatrix(ctx.pattern.csr(ctx.pattern.entries(gradients[0], 0.0))).multiply(rows), None
