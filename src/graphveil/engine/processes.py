"""Fresh processes that compute, and stop at once when this one is interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from graphveil.engine.interrupts import uninterrupted
from graphveil.engine.pool import Pool, Value
from graphveil.outside import expect, expected


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
def workers(count: int) -> Iterator[Processes]:
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
