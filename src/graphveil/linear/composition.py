"""One linear map after another, never multiplied out."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class LinearMap(Protocol):
    """Anything that multiplies a dense matrix: a sparse matrix, a polynomial, a dense tensor, a composition."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __matmul__(self, dense: Tensor) -> Tensor: ...


class Composition:
    """``(outer ∘ inner) @ W = outer @ (inner @ W)``: project before you propagate."""

    def __init__(self, outer: LinearMap, inner: LinearMap) -> None:
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
