"""A crew of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from graphveil.engine.crew import RESTARTS, Progress, WorkersLostError, check_room
from graphveil.engine.scratch import scratch
from graphveil.engine.worker import begin_work
from graphveil.outside import expected


class ProcessCrew:
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
