"""Sparse matrices times narrow dense ones: where the time goes.

torch's CSR product with 32-bit indices is the fastest of those measured (`python -m benchmarks kernels`). Its gradient
needs the transpose, which is built once and kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from graphveil.errors import InputError


class SparseMatrix:
    """A constant sparse matrix (n x m) on a device: ``matrix @ dense`` (m x k to n x k) has a gradient for the dense factor."""

    def __init__(self, forward: Tensor, backward: Tensor, order: Tensor | None = None) -> None:
        # ``order`` says where each entry of the transpose stands among the entries.
        self._forward, self._backward, self._order = forward, backward, order

    @classmethod
    def from_csr(
        cls,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        shape: tuple[int, int],
        *,
        symmetric: bool = False,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> SparseMatrix:
        """From the three arrays of a CSR matrix of this shape, n x m: n + 1 pointers, and a column and a value an entry.

        ``symmetric`` says that the matrix is its own transpose, which saves building it.
        """
        forward = csr_tensor(indptr, indices, values, shape, device, dtype)
        if symmetric:
            return cls(forward, forward)
        # Entry numbers, column by column: scipy counts where sorting would compare.
        turned = csr_matrix((np.arange(len(indices)), indices, indptr), shape=shape).tocsc()
        order = turned.data
        backward = csr_tensor(
            turned.indptr, turned.indices, values[order], (shape[1], shape[0]), device, dtype
        )
        return cls(forward, backward, torch.from_numpy(order).to(device))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self._forward.shape
        return int(rows), int(columns)

    @property
    def device(self) -> torch.device:
        """Where the matrix is."""
        return self._forward.device

    @property
    def transposed(self) -> SparseMatrix:
        """The transpose, which shares its memory with this matrix."""
        return SparseMatrix(self._backward, self._forward)

    @property
    def entry_count(self) -> int:
        """How many entries are stored."""
        return int(self._forward.values().numel())

    def __matmul__(self, dense: Tensor) -> Tensor:
        product: Callable[..., Tensor] = _Product.apply
        return product(dense, self)

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        """The product with m x k without a gradient, written into ``out`` (n x k) if given."""
        if out is None:
            out = dense.new_empty((self.shape[0], dense.shape[1]))
        # Said so, torch neither clears nor copies what it is about to overwrite.
        return torch.addmm(out, self._forward, dense, beta=0, out=out)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        """The product with m x k plus ``weight`` times another matrix (n x k), without a gradient."""
        return torch.addmm(added, self._forward, dense, beta=weight, out=out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        """out ← scale·out + weight·(matrix @ dense), in place and without a gradient."""
        return torch.addmm(out, self._forward, dense, beta=scale, alpha=weight, out=out)

    def thinned(self, dropped: float) -> SparseMatrix:
        """A random share of the entries (``dropped``, in [0, 1)) at 0, the others scaled up by as much as keeps the mean."""
        if self._order is None:
            raise InputError(
                "entries of a symmetric or transposed matrix are not dropped: build it from its rows"
            )
        values = torch.nn.functional.dropout(self._forward.values(), dropped)
        return SparseMatrix(
            _with_values(self._forward, values), _with_values(self._backward, values[self._order])
        )

    def to_dense(self) -> Tensor:
        """The whole matrix, dense; for tests and small graphs."""
        return self._forward.to_dense()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.multiply(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.transposed.multiply(gradients[0].contiguous()), None


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, size=matrix.shape, check_invariants=False
    )


def csr_tensor(
    indptr: NDArray[Any] | Tensor,
    indices: NDArray[Any] | Tensor,
    values: NDArray[Any] | Tensor,
    shape: tuple[int, int],
    device: Any = "cpu",
    dtype: torch.dtype = torch.float32,
    *,
    trusted: bool = False,
) -> Tensor:
    """A CSR tensor from its three arrays. What is a tensor already is taken as it is; ``trusted`` indices are checked by nobody."""
    with warnings.catch_warnings():
        # torch calls its CSR layout beta once a process; what is used of it here is tested.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            # Copies: torch wants arrays that it could write to.
            indptr if isinstance(indptr, Tensor) else torch.from_numpy(np.array(indptr, dtype=np.int32)),
            indices if isinstance(indices, Tensor) else torch.from_numpy(np.array(indices, dtype=np.int32)),
            values if isinstance(values, Tensor) else torch.tensor(values, dtype=dtype),
            size=shape,
            device=device,
            check_invariants=not trusted,
        )
