"""Many hops as one operator: a series of Chebyshev polynomials, which needs far fewer hops than one of powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from graphveil.linear.series import Series
from graphveil.linear.sparse import SparseMatrix


class Chebyshev(Series):
    """Σ_k c_k T_k(P), T_k(cos θ) = cos kθ, applied by ``series @ dense``: as `Polynomial`, with a gradient and no hop kept.

    Clenshaw's rule b_k = c_k X + 2P b_{k+1} - b_{k+2} ends with c_0 X + P b_1 - b_2 and needs the argument and two more
    matrices. The eigenvalues of P have to be real and within -1 and 1, or the terms grow with k. The gradient is the same
    series of Pᵀ.

    >>> import numpy as np
    >>> swap = SparseMatrix.from_csr(np.array([0, 1, 2]), np.array([1, 0]), np.ones(2), (2, 2), symmetric=True)
    >>> (Chebyshev(swap, [0.0, 1.0, 2.0]) @ torch.tensor([[1.0], [0.0]])).ravel().tolist()
    [2.0, 1.0]
    """

    def _product(self, dense: Tensor) -> Tensor:
        multiply: Callable[..., Tensor] = _Evaluation.apply
        return multiply(dense, self.matrix, self.coefficients)

    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        return _clenshaw(self.matrix, self.coefficients, dense, total, spare)


def _clenshaw(
    matrix: SparseMatrix, coefficients: Sequence[float], dense: Tensor, total: Tensor, spare: Tensor
) -> Tensor:
    """Clenshaw's rule: ``total`` is the newest b, ``spare`` the one before, which the next takes the place of."""
    torch.mul(dense, coefficients[-1], out=total)
    spare.zero_()
    for k in range(len(coefficients) - 2, -1, -1):
        matrix.add_product(total, 2.0 if k else 1.0, -1.0, out=spare)
        spare.add_(dense, alpha=coefficients[k])
        total, spare = spare, total
    return total


class _Evaluation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix, coefficients: tuple[float, ...]) -> Tensor:
        ctx.matrix, ctx.coefficients = matrix, coefficients
        return _clenshaw(matrix, coefficients, dense, torch.empty_like(dense), torch.empty_like(dense))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        gradient = gradients[0].contiguous()
        room = torch.empty_like(gradient), torch.empty_like(gradient)
        return _clenshaw(ctx.matrix.transposed, ctx.coefficients, gradient, *room), None, None
