"""Engines that compute units: this process, other processes here that stop at once with it, or Ray."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from graphveil.checks import check_whole
from graphveil.errors import EngineError, InputError
from graphveil.lazy import scale
from graphveil.plugins import expect, expected
from graphveil.process import begin
from graphveil.settings import available_gigabytes, busy_processors, usable_processors

LOCAL, RAY = "local", "ray"
# Checkpoints are written each so many epochs, where nothing else is said.
CHECKPOINT_EVERY = 20
# The Ray that runs on this machine already, whatever its address is; as many processes as there are idle processors.
AUTO = "auto"
Jobs = int | str | None
# What a process must have to do, so that its start is worth it (epochs times users and links; some three seconds), and its memory.
WORK_EACH, GIGABYTES_EACH = 80e6, 1.5
# A host's name or address (in brackets, where it has colons itself) and a port.
ADDRESS = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
MOST_PORT = (1 << 16) - 1


def check_address(address: str) -> None:
    """Reject an invalid address of Ray, without connecting to it."""
    found = ADDRESS.fullmatch(address)
    if address != AUTO and (found is None or not 1 <= int(found["port"]) <= MOST_PORT):
        raise InputError(
            f"ray://{address} is no address: give ray://HOST:PORT as `ray start --head` prints it, for example "
            f"ray://127.0.0.1:6379, or ray://{AUTO} for the Ray that runs on this machine"
        )


def check_jobs(jobs: Jobs) -> None:
    """Reject a number of processes that is neither a whole number nor ``auto``, nor left out."""
    if jobs not in (AUTO, None):
        if isinstance(jobs, str):
            raise InputError(f"--jobs takes a whole number or {AUTO}, got {jobs!r}")
        check_whole(jobs, "--jobs", least=1)


def read_jobs(jobs: str) -> int | str:
    """Return a number of processes as it is written.

    >>> read_jobs("2"), read_jobs("auto")
    (2, 'auto')
    """
    try:
        return int(jobs)
    except ValueError:
        return jobs


def idle_jobs(units: int, work: float, processors: int, busy: float, gigabytes: float) -> int:
    """Return how many processes compute units soonest: as many as processors are idle, and fewer where some would have too little to do.

    Parameters
    ----------
    units
        How many units there are.
    work
        What they take together: epochs times users and links.
    processors, busy
        How many processors there are, and how many of them others keep busy.
    gigabytes
        How much memory is free.

    >>> idle_jobs(10, 1e9, processors=8, busy=2.2, gigabytes=30), idle_jobs(10, 1e6, 8, 0.0, 30)
    (6, 1)
    """
    most = (units, work / WORK_EACH, processors - busy + 0.5, gigabytes / GIGABYTES_EACH)
    return max(1, int(min(most)))


def host_and_port(address: str) -> tuple[str, int] | None:
    """Split an address into host and port; return None if Ray is to find the address itself.

    >>> host_and_port("[::1]:6379"), host_and_port("auto")
    (('::1', 6379), None)
    """
    found = ADDRESS.fullmatch(address)
    return None if found is None else (found["host"].strip("[]"), int(found["port"]))


@dataclass(frozen=True)
class Engine:
    """The engine that computes units. It does not change the numbers.

    Parameters
    ----------
    address
        HOST:PORT of a running Ray, or ``auto``. Without it, Ray is started here and stopped at the end.
    workers
        The number of workers that share the learning of one unit; by default, one worker computes each unit.
    """

    name: str = LOCAL
    address: str | None = None
    workers: int | None = None
    # Where workers share a unit: each so many epochs they write down how far they are.
    checkpoint_every: int = CHECKPOINT_EVERY

    def __post_init__(self) -> None:
        if self.name not in (LOCAL, RAY) or (self.address is not None and self.name != RAY):
            written = self.name if self.address is None else f"{self.name}://{self.address}"
            raise InputError(
                f"--engine must be {LOCAL}, {RAY}, {RAY}://HOST:PORT or {RAY}://{AUTO}, got {written!r}"
            )
        if self.address is not None:
            check_address(self.address)
        check_whole(self.checkpoint_every, "--checkpoint-every", least=1)
        if self.workers is not None:
            check_whole(self.workers, "--workers", least=1)

    @classmethod
    def of(
        cls, written: str | Engine, workers: int | None = None, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> Engine:
        """Return the engine of a name: ``local``, ``ray``, ``ray://HOST:PORT`` or ``ray://auto``.

        Parameters
        ----------
        written
            The name, or an engine, which is returned as it is.
        workers, checkpoint_every
            As in `Engine`.
        >>> Engine.of("ray://10.0.0.7:6379", workers=2)
        Engine(name='ray', address='10.0.0.7:6379', workers=2, checkpoint_every=20)
        """
        if isinstance(written, Engine):
            return written
        name, divider, address = written.partition("://")
        return cls(name, address if divider else None, workers, checkpoint_every)

    def job_count(self, jobs: Jobs, units: int, work: float) -> int | None:
        """Return the number of processes: for ``auto`` as many as are idle, and on Ray as many as it has.

        Parameters
        ----------
        jobs
            A number, ``auto``, or None, which is one here.
        units, work
            As in `idle_jobs`.
        """
        check_jobs(jobs)
        if not isinstance(jobs, str):
            return jobs
        if self.name != LOCAL or self.workers is not None:
            return None
        return idle_jobs(units, work, usable_processors(), busy_processors(), available_gigabytes())

    def inside(self, jobs: Jobs) -> bool:
        """Return whether units are started in this process, one after the other; workers may share each."""
        return self.workers is not None or (self.name == LOCAL and jobs in (None, AUTO, 1))

    def check_units(self, what: str) -> None:
        """Raise an error if workers are given where many separate units are computed."""
        if self.workers is not None:
            raise InputError(
                f"--workers share the learning of one run, and {what} has many: leave --workers out, and --jobs says how many are computed "
                "at a time"
            )

    def pool(self, jobs: Jobs, most: int | None = None) -> AbstractContextManager[Pool]:
        """Workers until the end, ``jobs`` of them, but no more than there is to do at most.

        Without ``jobs`` it is one process here, and on Ray as many workers as it has processors.
        """
        jobs = None if isinstance(jobs, str) else jobs
        if self.name == LOCAL:
            return processes(min(jobs or 1, most or jobs or 1))
        pool: AbstractContextManager[Pool] = scale().open_ray_pool(self.address, jobs)
        return pool

    @contextmanager
    def shared(self, jobs: Jobs) -> Iterator[Callable[[], Pool]]:
        """Share workers between experiments; they start when first needed, and again after a stop."""
        with ExitStack() as ending:
            started: list[Pool] = []

            def give() -> Pool:
                if not started or started[-1].stopped:
                    started.append(ending.enter_context(self.pool(jobs)))
                return started[-1]

            yield give

    def open(self) -> AbstractContextManager[None]:
        """For several calls that have workers of their own: meanwhile Ray is started at most once."""
        if self.name == LOCAL:
            return nullcontext()
        opened: AbstractContextManager[None] = scale().kept_open()
        return opened


HERE = Engine()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay an interrupt that comes inside the block until its end."""
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
    """The process that computed one unit was lost repeatedly; other units may still succeed."""


class FinishedCalls(Generic[Value]):
    """Calls in the order in which they finish; waiting for them can be interrupted at any moment.

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
        """Add a call to wait for."""
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


def call_result(future: Future[Value]) -> Value:
    """Return the result of a call; raise `UnitLostError` if its process was killed."""
    done = FinishedCalls([future]).next()
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
        """Submit a call; its future raises what the call raises."""

    @abstractmethod
    def stop(self) -> None:
        """Stop at once; unfinished calls are lost."""

    @property
    @abstractmethod
    def stopped(self) -> bool:
        """Whether no more work can be submitted."""


class Processes(Pool):
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.count = count
        self.executor = ProcessPoolExecutor(
            count, mp_context=context, initializer=begin_process, initargs=(expected(),)
        )

    def submit(self, function: Callable[..., Value], /, *arguments: Any) -> Future[Value]:
        """Submit a call; function, arguments and result are pickled."""
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
        """Whether the processes were stopped, or one of them was killed, which ends the others too."""
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
    """Set up a process. The files that it runs must be as they were when this experiment began."""
    begin()
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
