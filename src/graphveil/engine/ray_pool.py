"""Workers of Ray: each call is a task, which is repeated where its worker dies."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import ray
from ray import exceptions

from graphveil.engine.pool import Pool, UnitLostError, Value
from graphveil.engine.ray_session import RETRIES, connected
from graphveil.engine.ray_task import Sender, compute, packed, unpacked
from graphveil.errors import EngineError

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
    """What happened to a task that Ray could not finish, and what to do."""
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
def ray_workers(address: str | None, count: int | None) -> Iterator[RayPool]:
    """Workers of the Ray at an address, or of one that is started for them; at the end whatever they still compute is cancelled."""
    with connected(address, count) as most:
        pool = RayPool(most)
        try:
            yield pool
        finally:
            pool.stop()
