"""Functions computed elsewhere: fresh processes that stop at once when this one is interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from graphveil.errors import EngineError
from graphveil.plugins import expect, expected


@contextmanager
def uninterrupted() -> Iterator[None]:
    """An interrupt that comes meanwhile takes effect at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


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


class Processes(Pool):
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.count = count
        self.executor = ProcessPoolExecutor(
            count, mp_context=context, initializer=begin_process, initargs=(expected(),)
        )

    def submit(self, function: Callable[..., Value], /, *arguments: Any) -> Future[Value]:
        """Hand in a call; function, arguments and what is returned travel by pickle."""
        with uninterrupted():
            return self.executor.submit(function, *arguments)

    def stop(self) -> None:
        """Stop the processes at once."""
        # The executor forgets its processes when it is shut down: stop them first, so that nobody waits for them.
        for process in list((self.executor._processes or {}).values()):
            process.terminate()
        self.executor.shutdown(wait=False, cancel_futures=True)

    @property
    def stopped(self) -> bool:
        """Whether they were stopped, or one of them was killed, which ends the others too."""
        return bool(self.executor._shutdown_thread)


@contextmanager
def processes(count: int) -> Iterator[Processes]:
    """So many processes, which end with this one, however it ends. An interrupt reaches this process alone, which stops them; so does any other error."""
    pool = Processes(count)
    with pool.executor:
        try:
            _start(pool)
            yield pool
        except BaseException:
            pool.stop()
            raise


def begin_process(digests: dict[Path, str]) -> None:
    """What a process does first. Files that it runs must be as they were when this experiment began."""
    expect(digests)
    _end_with_parent()


def _end_with_parent() -> None:
    """Watch the process that started this one: where it was killed, nobody else would stop this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="ends with its parent").start()


def _start(pool: Processes) -> None:
    """Start the processes, which inherit that interrupts are blocked; one that comes meanwhile is not lost."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(pool.count):
            pool.submit(int)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
