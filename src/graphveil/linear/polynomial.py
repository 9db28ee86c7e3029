"""Many hops as one linear operator: powers and Chebyshev polynomials of a sparse matrix, one map after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from graphveil.errors import InputError
from graphveil.linear.sparse import SparseMatrix


class Series(ABC):
    """A sum of polynomials of a square matrix, Σ_k c_k p_k(P) with p_0 = 1, applied by ``series @ dense``, with a gradient.

    ``matrix`` is P, n x n, ``coefficients`` are c_0, c_1, …, and a dense factor is n x k, as the product is.
    """

    # What errors call it.
    title: ClassVar[str] = "series"

    def __init__(self, matrix: SparseMatrix, coefficients: Sequence[float]) -> None:
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"a {self.title} needs a square matrix, got {matrix.shape[0]} x {matrix.shape[1]}"
            )
        if not coefficients:
            raise InputError(f"a {self.title} needs a coefficient: [1] is the identity")
        self.matrix, self.coefficients = matrix, tuple(float(c) for c in coefficients)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape

    @property
    def degree(self) -> int:
        """The number of hops."""
        return len(self.coefficients) - 1

    def __matmul__(self, dense: Tensor) -> Tensor:
        return dense if self.coefficients == (1.0,) else self._product(dense)

    @abstractmethod
    def _product(self, dense: Tensor) -> Tensor:
        """The product with a gradient."""

    @abstractmethod
    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        """The product without a gradient, in room that is given (n x k each); what is returned is one of the two."""


class Composition:
    """``(outer ∘ inner) @ W = outer @ (inner @ W)``: project before you propagate.

    ``outer`` is n x n and ``inner`` n x d, so that a composition maps W (d x k) to n x k.
    """

    def __init__(self, outer: Series | SparseMatrix, inner: Input) -> None:
        self.outer, self.inner = outer, inner

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.outer.shape[0], self.inner.shape[1]

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self.outer @ (self.inner @ dense)

    def to_dense(self) -> Tensor:
        """The whole matrix; for tests and small graphs."""
        return self @ torch.eye(self.shape[1])


class Scaled:
    """``scaled @ W = inner @ (factor · W)``: an input (n x d) of another size, of which no copy is made."""

    def __init__(self, inner: Input, factor: float) -> None:
        self.inner, self.factor = inner, factor

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.inner.shape[0], self.inner.shape[1]

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self.inner @ (self.factor * dense)


def scaled(inputs: Input, factor: float) -> Input:
    """Inputs times a factor; themselves where it is 1."""
    return inputs if factor == 1 else Scaled(inputs, factor)


# What a backbone multiplies its first weights with.
Input = SparseMatrix | Tensor | Composition | Scaled


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
        multiply: Callable[..., Tensor] = _ChebyshevEvaluation.apply
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


class _ChebyshevEvaluation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix, coefficients: tuple[float, ...]) -> Tensor:
        ctx.matrix, ctx.coefficients = matrix, coefficients
        return _clenshaw(matrix, coefficients, dense, torch.empty_like(dense), torch.empty_like(dense))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        gradient = gradients[0].contiguous()
        room = torch.empty_like(gradient), torch.empty_like(gradient)
        return _clenshaw(ctx.matrix.transposed, ctx.coefficients, gradient, *room), None, None
