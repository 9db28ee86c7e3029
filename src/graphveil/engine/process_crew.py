"""A crew of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from graphveil.engine.crew import RESTARTS, Progress, WorkersLostError
from graphveil.errors import GraphveilError

# A worker waits so long for others before it gives up: they may be reading a large part.
PATIENCE = timedelta(hours=2)


class ProcessCrew:
    """Workers are fresh processes of this machine, which end with this one; they talk by gloo over the loopback address."""

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        how = ""
        for _ in range(RESTARTS + 1):
            with tempfile.TemporaryDirectory() as folder:
                results = _once(work, tasks, Path(folder) / "meeting", progress)
            if not isinstance(results, str):
                return results
            how = results
        raise WorkersLostError(how)


def _once(
    work: Callable[..., Any], tasks: Sequence[Any], meeting: Path, progress: Progress | None
) -> list[Any] | str:
    """The results of all workers; or, where one was lost, how."""
    context = multiprocessing.get_context("spawn")
    ends, processes = [], []
    # An interrupt reaches this process alone, which stops the others.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for rank, task in enumerate(tasks):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(there, rank, len(tasks), str(meeting), work, task), daemon=True
            )
            process.start()
            there.close()
            ends.append(here)
            processes.append(process)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        return _listen(ends, progress)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def _listen(ends: list[Connection], progress: Progress | None) -> list[Any] | str:
    results: dict[int, Any] = {}
    while len(results) < len(ends):
        waiting = [end for rank, end in enumerate(ends) if rank not in results]
        for end in wait(waiting):
            assert isinstance(end, Connection)
            rank = ends.index(end)
            try:
                kind, told = end.recv()
            except (EOFError, OSError):
                return f"worker {rank} ended"
            if kind == "progress" and progress is not None:
                progress(*told)
            elif kind == "error":
                raise told
            elif kind == "lost":
                return f"worker {rank}: {told}"
            elif kind == "result":
                results[rank] = told
    return [results[rank] for rank in range(len(ends))]


def _work(end: Connection, rank: int, size: int, meeting: str, work: Callable[..., Any], task: Any) -> None:
    """What a worker process does."""
    _end_with_parent()
    import torch
    from torch import distributed

    from graphveil.engine.gloo import GlooWorld

    torch.set_num_threads(1)
    lock = threading.Lock()

    def say(kind: str, told: Any) -> None:
        with lock:
            end.send((kind, told))

    try:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting}", rank=rank, world_size=size, timeout=PATIENCE
        )
        say("result", work(task, GlooWorld(), lambda what, share: say("progress", (what, share))))
        distributed.barrier()
    except GraphveilError as error:
        say("error", error)
    except (RuntimeError, OSError) as error:
        # A message that did not arrive: whoever should have sent it is gone.
        say("lost", str(error).splitlines()[0] if str(error) else type(error).__name__)


def _end_with_parent() -> None:
    """Watch the process that started this one: where it was killed, nobody else would stop this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="ends with its parent").start()
