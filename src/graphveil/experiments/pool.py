"""Fresh processes that compute, and stop at once when this one is interrupted."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes. An interrupt reaches this process alone, which stops them; so does any other error."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        try:
            _start(pool, count)
            yield pool
        except BaseException:
            # The pool forgets its processes when it is shut down: stop them first, so that nobody waits for them.
            for process in list(pool._processes.values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start(pool: ProcessPoolExecutor, count: int) -> None:
    """Start the processes, which inherit that interrupts are blocked; one that comes meanwhile is not lost."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(count):
            pool.submit(int)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
