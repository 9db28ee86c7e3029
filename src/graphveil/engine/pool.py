"""What computes somewhere else, as those who hand out work see it: a function goes in, a future comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from graphveil.engine.interrupts import uninterrupted
from graphveil.errors import EngineError

Value = TypeVar("Value")


class UnitLostError(EngineError):
    """Whoever computed one unit was lost again and again; another unit may fare better."""


class Arriving(Generic[Value]):
    """Calls in the order in which they are finished; whoever waits for them can be interrupted at any moment.

    `concurrent.futures.wait` takes the locks of all futures, and an interrupt leaves some locked: their pool would never end.
    """

    def __init__(self, futures: Iterable[Future[Value]] = ()) -> None:
        self._finished: SimpleQueue[Future[Value]] = SimpleQueue()
        self._count = 0
        for future in futures:
            self.add(future)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Future[Value]]:
        while self._count:
            yield self.next()

    def add(self, future: Future[Value]) -> None:
        """Wait for one more."""
        with uninterrupted():
            future.add_done_callback(self._finished.put)
            self._count += 1

    def next(self) -> Future[Value]:
        """One that is finished.

        Waits a second at a time: an interrupt that comes between Python's look for signals and the wait itself is seen only when
        the wait ends.
        """
        while True:
            with suppress(Empty):
                future = self._finished.get(timeout=1.0)
                self._count -= 1
                return future


def computed(future: Future[Value]) -> Value:
    """What a call came to. Where its process was killed, that is said: others cannot go on without it."""
    done = Arriving([future]).next()
    try:
        with uninterrupted():
            return done.result()
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
