"""A pool of Ray's workers: each call is a task, which is repeated where its worker dies."""

from __future__ import annotations

import os
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray import exceptions

from graphveil.errors import EngineError
from graphveil.experiments.engine import Pool, UnitLostError, Value, uninterrupted
from graphveil.plugins import expect, expected
from graphveil.scale.environment import algebra_threads, check_same, set_algebra_threads, versions
from graphveil.scale.ray_session import RETRIES, connected, set_variable

# Where graphs are looked for and kept; what is kept of experiments, the sender alone writes.
ENVIRONMENT = ("GRAPHVEIL_DATA", "GRAPHVEIL_CACHE")
# Libraries that are loaded later read it then. Ray has a number of its own for it.
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Sender:
    """The process that sends calls: its versions, its folder, its variables, its files from outside and its threads."""

    versions: Mapping[str, str]
    folder: str
    variables: Mapping[str, str | None]
    files: Mapping[Path, str]
    threads: int

    @classmethod
    def here(cls) -> Sender:
        """This process."""
        variables = {name: os.environ.get(name) for name in ENVIRONMENT}
        return cls(versions(), os.getcwd(), variables, expected(), algebra_threads())

    def become(self) -> None:
        """Make this process, which computes for nobody else, like that one."""
        check_same(self.versions)
        for name, value in self.variables.items():
            set_variable(name, value)
        # Where a node has no such folder, whatever is named from there is missing and says so.
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        expect(self.files)
        os.environ[THREADS] = str(self.threads)
        set_algebra_threads(self.threads)


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """A call as it travels."""
    return pickle.dumps((function, arguments))


def compute(sender: Sender, call: bytes) -> bytes:
    """Compute a call for another process: its result, or its error with the traceback, so that Ray repeats none of them."""
    try:
        # Nothing is unpacked before it is clear that both sides understand the same by it.
        sender.become()
        function, arguments = pickle.loads(call)
        return pickle.dumps((function(*arguments), None))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the sender raises it
        where = traceback.format_exc()
        try:
            failure = pickle.dumps((error, where))
            pickle.loads(failure)
        except Exception:  # noqa: BLE001 -- a class may refuse in any way
            # Not every error can travel.
            return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), where))
        return failure


def unpacked(answer: bytes) -> Any:
    """Return the result of a call, or raise the error that it raised, with a note of where that was."""
    found, where = pickle.loads(answer)
    if where is not None:
        found.add_note(f"In a worker of Ray:\n{where}")
        raise found
    return found


# Of an error of Ray's, as much as says what it is.
SHOWN = 300
# What becomes of a task whose worker is lost, this one and no other.
LOST = (exceptions.OutOfMemoryError, exceptions.WorkerCrashedError, exceptions.NodeDiedError)
# The longest that an interrupt waits for Ray to cancel.
STOP_SECONDS = 10.0


class RayPool(Pool):
    """Calls as tasks of Ray, ``count`` of them at a time, for each of which a thread waits.

    So waiting for a future can be interrupted at any moment.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        sender = ray.put(Sender.here())
        task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(compute)
        self._start: Callable[[bytes], Any] = lambda call: task.remote(sender, call)
        self._tasks, self._lock, self._stopped = set[Any](), threading.Lock(), False
        self._threads = ThreadPoolExecutor(count, "tasks of Ray")

    def submit(self, function: Callable[..., Value], /, *arguments: Any) -> Future[Value]:
        """Hand in a call; function, arguments and what is returned travel by pickle."""
        if self.stopped:
            raise RuntimeError("these workers were stopped: start others")
        call = packed(function, arguments)
        with uninterrupted():
            return self._threads.submit(self._compute, call)

    def _compute(self, call: bytes) -> Any:
        with self._lock:
            if self._stopped:
                raise BrokenExecutor("stopped before it was computed")
            task = self._start(call)
            self._tasks.add(task)
        try:
            return unpacked(ray.get(task))
        except exceptions.RayError as error:
            if self._stopped:
                raise BrokenExecutor("stopped while it was computed") from None
            lost = isinstance(error, LOST)
            raise (UnitLostError if lost else EngineError)(sentence(error)) from None
        finally:
            with self._lock:
                self._tasks.remove(task)

    def stop(self) -> None:
        """Cancel all tasks; workers that compute one are killed."""
        with uninterrupted():
            self._threads.shutdown(wait=False, cancel_futures=True)
            with self._lock:
                self._stopped, cancelled = True, list(self._tasks)
            for task in cancelled:
                ray.cancel(task, force=True)
            end = time.monotonic() + STOP_SECONDS
            while self._tasks and time.monotonic() < end:
                time.sleep(0.01)

    @property
    def stopped(self) -> bool:
        """Whether they were stopped."""
        return self._stopped


def sentence(error: exceptions.RayError) -> str:
    """Return what happened to a task that Ray could not finish, and what to do."""
    tried = f"{RETRIES + 1} times"
    if isinstance(error, exceptions.OutOfMemoryError):
        return (
            f"Ray ended a worker {tried} because its machine was short of memory: give fewer --jobs, or more memory; "
            "whatever was finished is kept"
        )
    if isinstance(error, exceptions.RayTaskError):
        last = str(error).strip().splitlines()[-1][:SHOWN]
        return f"a worker of Ray cannot run graphveil ({last}): install graphveil, in this version, on every node"
    if isinstance(error, LOST):
        return (
            f"the worker of one unit died {tried}, killed or crashed each time: see what ends it (memory, a fault of a library); "
            "whatever was finished is kept"
        )
    said = " ".join(str(error).split())[:SHOWN]
    return f"Ray could not compute ({type(error).__name__}: {said}): whatever was finished is kept, and the same command goes on"


@contextmanager
def open_ray_pool(address: str | None, count: int | None) -> Iterator[RayPool]:
    """Workers of the Ray at an address, or of one that is started for them; at the end whatever they still compute is cancelled."""
    with connected(address, count) as most:
        pool = RayPool(most)
        try:
            yield pool
        finally:
            pool.stop()
