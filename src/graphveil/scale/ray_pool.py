"""A pool of Ray's workers: each call is a task, which is repeated where its worker dies."""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import ray
from ray import exceptions

from graphveil.errors import EngineError
from graphveil.experiments.engine import Pool, UnitLostError, Value
from graphveil.plugins import expect, expected
from graphveil.scale.environment import algebra_threads, check_same, set_algebra_threads, versions
from graphveil.scale.ray_session import RETRIES, connected

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
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # Where a node has no such folder, whatever is named from there is missing and says so.
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        expect(self.files)
        os.environ[THREADS] = str(self.threads)
        set_algebra_threads(self.threads)


@dataclass(frozen=True)
class Failure:
    """The error that a call raised, and its traceback."""

    error: BaseException
    where: str


class RemoteError(Exception):
    """The traceback of an error in a worker, shown above the error."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where

    def __str__(self) -> str:
        return f'\n"""\n{self.where}"""'


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """A call as it travels."""
    return pickle.dumps((function, arguments))


def compute(sender: Sender, call: bytes) -> bytes:
    """Compute a call for another process. Errors of the call are part of what is returned, so that Ray repeats none of them."""
    try:
        # Nothing is unpacked before it is clear that both sides understand the same by it.
        sender.become()
        function, arguments = pickle.loads(call)
        return pickle.dumps(function(*arguments))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the sender raises it
        return _packed_failure(error)


def unpacked(answer: bytes) -> Any:
    """Return the result of a call, or raise the error that it raised."""
    found = pickle.loads(answer)
    if isinstance(found, Failure):
        found.error.__cause__ = RemoteError(found.where)
        raise found.error
    return found


def _packed_failure(error: BaseException) -> bytes:
    where = traceback.format_exc()
    try:
        packed_error = pickle.dumps(Failure(error, where))
        pickle.loads(packed_error)
    except Exception:  # noqa: BLE001 -- a class may refuse in any way
        # Not every error can travel.
        return pickle.dumps(Failure(RuntimeError(f"{type(error).__name__}: {error}"), where))
    return packed_error


# Of an error of Ray's, as much as says what it is.
SHOWN = 300
# What becomes of a task whose worker is lost, this one and no other.
LOST = (exceptions.OutOfMemoryError, exceptions.WorkerCrashedError, exceptions.NodeDiedError)
# Ray takes its time to cancel; whoever interrupts does not.
STOP_SECONDS = 10.0


class RayPool(Pool):
    """Calls as tasks of Ray, ``count`` of them at a time.

    One thread hands tasks to Ray and takes what came of them; others only put into its queue. So whoever waits for a future can be
    interrupted at any moment.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # A call that waits, what came of one, or None for the end.
        self._events: SimpleQueue[_Call | None] = SimpleQueue()
        self._stopped = threading.Event()
        sender = ray.put(Sender.here())
        task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(compute)
        self._start: Callable[[bytes], Any] = lambda call: task.remote(sender, call)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="tasks of Ray")
        self._thread.start()

    def submit(self, function: Callable[..., Value], /, *arguments: Any) -> Future[Value]:
        """Hand in a call; function, arguments and what is returned travel by pickle."""
        if self.stopped:
            raise RuntimeError("these workers were stopped: start others")
        call = _Call(packed(function, arguments))
        self._events.put(call)
        return call.future

    def stop(self) -> None:
        """Cancel all tasks; workers that compute one are killed."""
        self._stopped.set()
        self._events.put(None)
        self._thread.join(STOP_SECONDS)

    @property
    def stopped(self) -> bool:
        """Whether they were stopped."""
        return self._stopped.is_set()

    def _serve(self) -> None:
        waiting: deque[_Call] = deque()
        flying: set[_Call] = set()

        def take(call: _Call) -> None:
            if call in flying:
                flying.remove(call)
                call.settle()
            else:
                waiting.append(call)

        while (event := self._events.get()) is not None:
            take(event)
            while waiting and len(flying) < self.count and not self.stopped:
                call = waiting.popleft()
                if call.future.set_running_or_notify_cancel() and call.start(self._start, self._events.put):
                    flying.add(call)
        # What was finished meanwhile counts.
        while not self._events.empty():
            if (event := self._events.get()) is not None:
                take(event)
        for call in waiting:
            call.future.cancel()
        for call in flying:
            call.kill()


class _Call:
    """A call on its way: its future, and Ray's."""

    def __init__(self, words: bytes) -> None:
        self.words = words
        self.future: Future[Any] = Future()
        self._task: Any = None
        self._answer: Future[bytes] | None = None

    def start(self, start: Callable[[bytes], Any], done: Callable[[_Call], None]) -> bool:
        """Hand it to Ray, and say when there is an answer; whether that worked."""
        try:
            self._task = start(self.words)
            self._answer = self._task.future()
        except Exception as error:  # noqa: BLE001 -- whoever waits for it is told
            self.future.set_exception(error)
            return False
        assert self._answer is not None
        self._answer.add_done_callback(lambda _: done(self))
        return True

    def settle(self) -> None:
        """Tell whoever waits what came of it."""
        assert self._answer is not None
        try:
            self.future.set_result(unpacked(self._answer.result()))
        except exceptions.RayError as error:
            lost = isinstance(error, LOST)
            self.future.set_exception((UnitLostError if lost else EngineError)(sentence(error)))
        except BaseException as error:  # noqa: BLE001 -- whatever the call raised, its future raises
            self.future.set_exception(error)
        # What it took is freed on Ray's side too.
        self._task = self._answer = None

    def kill(self) -> None:
        """Let Ray end the worker that computes it."""
        try:
            ray.cancel(self._task, force=True)
        finally:
            self.future.set_exception(BrokenExecutor("stopped while it was computed"))


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
