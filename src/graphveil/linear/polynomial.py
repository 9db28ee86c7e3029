"""Many hops as one operator: a polynomial of a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from graphveil.linear.series import Series
from graphveil.linear.sparse import SparseMatrix


class Polynomial(Series):
    """Σ_k c_k P^k, applied by ``polynomial @ dense``: with a gradient, and with the memory of one hop however many there are.

    Horner's rule needs the argument, the sum so far and one product. The gradient is the same polynomial of Pᵀ, so no hop
    is kept for it.

    >>> import numpy as np
    >>> swap = SparseMatrix.from_csr(np.array([0, 1, 2]), np.array([1, 0]), np.ones(2), (2, 2), symmetric=True)
    >>> (Polynomial(swap, [0.0, 1.0, 2.0]) @ torch.tensor([[1.0], [0.0]])).ravel().tolist()
    [2.0, 1.0]
    """

    title = "polynomial"

    def _product(self, dense: Tensor) -> Tensor:
        multiply: Callable[..., Tensor] = _Evaluation.apply
        return multiply(dense, self.matrix, self.coefficients)

    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        torch.mul(dense, self.coefficients[-1], out=total)
        for coefficient in reversed(self.coefficients[:-1]):
            _hop(self.matrix, total, dense, coefficient, spare)
            total, spare = spare, total
        return total


def evaluate(matrix: SparseMatrix, coefficients: Sequence[float], dense: Tensor) -> Tensor:
    """Σ_k c_k P^k X by Horner's rule, for P of n x n and X of n x k."""
    total = coefficients[-1] * dense
    for coefficient in reversed(coefficients[:-1]):
        total = _hop(matrix, total, dense, coefficient)
    return total


def _hop(
    matrix: SparseMatrix, total: Tensor, dense: Tensor, coefficient: float, out: Tensor | None = None
) -> Tensor:
    """One step of Horner's rule: P·total + c·X."""
    if coefficient:
        return matrix.multiply_add(total, dense, coefficient, out)
    return matrix.multiply(total, out)


class _Evaluation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix, coefficients: tuple[float, ...]) -> Tensor:
        ctx.matrix, ctx.coefficients = matrix, coefficients
        return evaluate(matrix, coefficients, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return evaluate(ctx.matrix.transposed, ctx.coefficients, gradients[0].contiguous()), None, None
