"""What computes somewhere else, as those who hand out work see it: a function goes in, a future comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any, TypeVar

from graphveil.errors import EngineError

Value = TypeVar("Value")


class UnitLostError(EngineError):
    """Whoever computed one unit was lost again and again; another unit may fare better."""


def computed(future: Future[Value]) -> Value:
    """What a call came to. Where its process was killed, that is said: others cannot go on without it."""
    try:
        return future.result()
    except BrokenExecutor:
        raise UnitLostError(
            "a process that computed was killed: see what ends it (memory that ran out, a fault of a library), or give fewer --jobs; "
            "whatever was finished is kept, and the same command goes on"
        ) from None


class Pool(ABC):
    """Workers that compute functions of importable modules, ``count`` of them at a time, in the order in which they were handed in."""

    count: int

    @abstractmethod
    def submit(self, function: Callable[..., Value], /, *arguments: Any) -> Future[Value]:
        """Hand in a call. What it raises, its future raises."""

    @abstractmethod
    def stop(self) -> None:
        """Stop at once, whatever is computed; what is not finished never will be."""

    @property
    @abstractmethod
    def stopped(self) -> bool:
        """Whether nothing can be handed in any more."""
