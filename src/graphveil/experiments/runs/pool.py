"""Fresh processes that compute, and stop at once when this one is interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import wait
from pathlib import Path

from graphveil.outside import expect, expected


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, which end with this one, however it ends. An interrupt reaches this process alone, which stops them; so does any other error."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(expected(),)) as pool:
        try:
            _start(pool, count)
            yield pool
        except BaseException:
            stop(pool)
            raise


@contextmanager
def shared_workers(count: int) -> Iterator[Callable[[], ProcessPoolExecutor]]:
    """So many processes for several experiments, which start when they are first asked for, and anew after they were stopped."""
    with ExitStack() as ending:
        started: list[ProcessPoolExecutor] = []

        def give() -> ProcessPoolExecutor:
            if not started or started[-1]._shutdown_thread:
                started.append(ending.enter_context(workers(count)))
            return started[-1]

        yield give


def stop(pool: ProcessPoolExecutor) -> None:
    """Stop processes at once, whatever they compute."""
    # The pool forgets its processes when it is shut down: stop them first, so that nobody waits for them.
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=False, cancel_futures=True)


def _begin(digests: dict[Path, str]) -> None:
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


def _start(pool: ProcessPoolExecutor, count: int) -> None:
    """Start the processes, which inherit that interrupts are blocked; one that comes meanwhile is not lost."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(count):
            pool.submit(int)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
