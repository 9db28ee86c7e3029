"""Collective operations of workers that learn together, each with a part of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Posted(Protocol):
    """Rows that are on their way."""

    def wait(self) -> None:
        """Return when they have arrived."""


class Collective(Protocol):
    """All workers, seen from one of them. Every worker makes the same calls in the same order."""

    @property
    def rank(self) -> int:
        """The number of this worker: 0..size-1."""

    @property
    def size(self) -> int:
        """The number of workers."""

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over all workers, entry by entry, the same for each of them."""

    def gather(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of all workers, one worker after the other, for each of them."""

    def swap(self, sent: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Numbers for each worker against those that each has for this one."""

    def post(self, sent: Sequence[Any], into: Sequence[Any]) -> Posted:
        """Send rows to each worker and receive theirs into room that is given (tensors); empty ones do not travel."""


class SingleProcess:
    """A collective of one process."""

    rank, size = 0, 1

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def gather(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows

    def swap(self, sent: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        return list(sent)

    def post(self, sent: Sequence[Any], into: Sequence[Any]) -> Posted:
        return _ARRIVED

    def __repr__(self) -> str:
        return "SingleProcess()"


class _Arrived:
    def wait(self) -> None:
        return


_ARRIVED = _Arrived()
SINGLE_PROCESS: Collective = SingleProcess()
