"""What the server knows after decoding: a sparse matrix plus a constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of all users' values: ``offset`` everywhere, plus ``values`` at the reported places.

    ``indices`` None means that every row reports all its dimensions, in order. ``unbiased`` says whether the mean of the
    whole (offset included) is the true value; where it is not, the mechanism's docstring says what it is.
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32] | None
    values: NDArray[np.float64]
    offset: float
    unbiased: bool

    def dense(self) -> NDArray[np.float64]:
        """The whole matrix, offset included: users x dimensions floats."""
        if self.indices is None:
            return self.values.reshape(self.shape) + self.offset
        matrix = np.full(self.shape, self.offset)
        owners = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        matrix[owners, self.indices] += self.values
        return matrix

    def first(self, count: int) -> Estimate:
        """The estimates of the first dimensions alone."""
        kept = min(count, self.shape[1])
        shape = (self.shape[0], kept)
        if self.indices is None:
            values = self.values.reshape(self.shape)[:, :kept].ravel()
            return replace(self, shape=shape, indptr=np.arange(shape[0] + 1) * kept, values=values)
        chosen = self.indices < kept
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(chosen)])[self.indptr]
        return replace(
            self, shape=shape, indptr=indptr, indices=self.indices[chosen], values=self.values[chosen]
        )

    def spread(self, answered: NDArray[np.bool_]) -> Estimate:
        """The same rows for those who answered, and empty ones, which say nothing, for the others who were asked."""
        lengths = np.zeros(len(answered), dtype=np.int64)
        lengths[answered] = np.diff(self.indptr)
        indices = self.indices
        if indices is None:
            indices = np.tile(np.arange(self.shape[1], dtype=np.int32), self.shape[0])
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        return replace(self, shape=(len(answered), self.shape[1]), indptr=indptr, indices=indices)

    def to_scipy(self) -> Any:
        """The sparse part as a ``scipy.sparse.csr_array`` (the offset is left out); needs scipy."""
        from scipy.sparse import csr_array

        indices = self.indices
        if indices is None:
            indices = np.tile(np.arange(self.shape[1], dtype=np.int32), self.shape[0])
        return csr_array((self.values, indices, self.indptr), shape=self.shape)

    def __repr__(self) -> str:
        kind = "unbiased" if self.unbiased else "biased"
        return f"Estimate({self.shape[0]} x {self.shape[1]}, {self.values.size} entries, {kind})"
