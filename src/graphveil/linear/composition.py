"""One linear map after another, never multiplied out."""

from __future__ import annotations

import torch
from torch import Tensor

from graphveil.linear.series import Series
from graphveil.linear.sparse import SparseMatrix


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
