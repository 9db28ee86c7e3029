"""Several workers that learn together: started, watched, and started anew where one is lost. Processes of this machine are one kind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import distributed

from graphveil.errors import EngineError, GraphveilError, InputError
from graphveil.experiments.engine import begin_process
from graphveil.plugins import expected
from graphveil.scale.process_group import GlooCollective, left_alone
from graphveil.scale.scratch import scratch

# Workers of which one was lost are started anew so many times.
RESTARTS = 3
# What libraries take of each worker that no other shares, in bytes.
LIBRARIES = 200e6
Progress = Callable[[str, float], None]


class Workers(Protocol):
    """Workers that each call ``work(tasks[rank], collective, progress)`` at the same time."""

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        """Return the workers' results, in their order.

        Where one is lost, all begin again from their checkpoints. An error that one raises is raised here.

        Parameters
        ----------
        work
            The function that each worker calls, as ``work(task, collective, progress)``.
        tasks
            One task for each worker; their number is the number of workers.
        progress
            Called with what is being done and how far it is; None for nobody.
        """


def check_room(workers: int, room: float, where: str) -> None:
    """Refuse workers whose libraries alone take more memory than there is.

    Parameters
    ----------
    workers
        The number of workers.
    room
        The memory that there is, in bytes.
    where
        The place that has this memory, for errors.
    """
    most = int(room / LIBRARIES)
    if workers > max(most, 1):
        raise InputError(
            f"{workers} workers take {workers * LIBRARIES / 1e9:.1f} GB for libraries alone, and {where} has {room / 1e9:.1f} GB: give at most "
            f"--workers {max(most, 1)}, or more machines"
        )


class WorkersLostError(EngineError):
    """Workers were lost again and again."""

    def __init__(self, how: str) -> None:
        super().__init__(
            f"workers were lost {RESTARTS + 1} times ({how}): look for memory that ran out, take more workers or fewer on one machine"
        )


# A worker waits so long for others before it gives up: they may be reading a large part.
PATIENCE = timedelta(hours=2)


def begin_work(
    end: Connection,
    rank: int,
    size: int,
    meeting: str,
    digests: dict[Path, str],
    work: Callable[..., Any],
    task: Any,
) -> None:
    """Join a collective, work, and send the result or the reason why there is none.

    Parameters
    ----------
    end
        The connection to send over.
    rank, size
        The number of this worker, and of all workers.
    meeting
        The path of the file by which the workers find each other.
    digests
        The digests of files that may be run: they must not have changed since.
    work
        The function to call, as ``work(task, collective, progress)``.
    task
        The task of this worker.
    """
    begin_process(digests)
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
        say("result", work(task, GlooCollective(), lambda what, share: say("progress", (what, share))))
        distributed.barrier()
    except GraphveilError as error:
        say("error", error)
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told there
        lost = left_alone(error)
        say("lost" if lost else "fault", str(error).splitlines()[0] if lost else traceback.format_exc())


class ProcessWorkers:
    """Workers are fresh processes of this machine, which end with this one; they talk by gloo over the loopback address."""

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        check_room(len(tasks), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "this machine")
        how = ""
        for _ in range(RESTARTS + 1):
            with scratch("meeting") as folder:
                results = _once(work, tasks, folder / "meeting", progress)
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
            given = (there, rank, len(tasks), str(meeting), expected(), work, task)
            process = context.Process(target=begin_work, args=given, daemon=True)
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
            elif kind == "lost":
                _raise_why(ends)
                return f"worker {rank}: {told}"
            elif kind == "result":
                results[rank] = told
            else:
                _raise_told(rank, kind, told)
    return [results[rank] for rank in range(len(ends))]


def _raise_why(ends: list[Connection]) -> None:
    """Raise what a worker has said that left others alone, where it ended on its own; whoever was killed has said nothing."""
    for rank, end in enumerate(ends):
        with suppress(EOFError, OSError):
            while end.poll():
                _raise_told(rank, *end.recv())


def _raise_told(rank: int, kind: str, told: Any) -> None:
    if kind == "error":
        raise told
    if kind == "fault":
        raise RuntimeError(f"worker {rank} failed:\n{told}")
