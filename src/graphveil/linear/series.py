"""What all forms of many hops as one operator have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

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
