"""Several workers that learn together by torch.distributed (gloo): processes of this machine, started, watched, and restarted where one is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from graphveil.errors import EngineError, GraphveilError, InputError
from graphveil.experiments.engine import begin_process
from graphveil.graphs.collective import Posted
from graphveil.plugins import expected
from graphveil.scale.scratch import scratch

# Workers of which one was lost are started anew so many times.
RESTARTS = 3
# What libraries take of each worker that no other shares, in bytes.
LIBRARIES = 200e6
Progress = Callable[[str, float], None]
# The answer to a question of a worker.
Answer = Callable[[Any], Any]


def no_answer(question: Any) -> Any:
    """Refuse a question: those who are given no questions are asked none."""
    raise EngineError("nobody answers questions here: this is a mistake in graphveil")


@dataclass(frozen=True)
class Caller:
    """The process that started a worker, as the worker reaches it: it is told how far the work is, and answers questions."""

    progress: Progress | None = None
    ask: Answer = no_answer


class Workers(Protocol):
    """Workers that each call ``work(tasks[rank], collective, caller)`` at the same time."""

    def run(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        progress: Progress | None,
        answer: Answer = no_answer,
    ) -> list[Any]:
        """Return the workers' results, in their order.

        Where one is lost, all begin again from their checkpoints. An error that one raises is raised here.

        Parameters
        ----------
        work
            The function that each worker calls, as ``work(task, collective, caller)``.
        tasks
            One task for each worker; their number is the number of workers.
        progress
            Called with what is being done and how far it is; None for nobody.
        answer
            Called with each question of a worker, one after the other; the worker gets what it returns.
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


def perform(work: Callable[[], Any]) -> tuple[str, Any]:
    """Do the work of one worker; return what its caller is told: a result, an error, a fault, or that it was lost because another was."""
    try:
        return "result", work()
    except GraphveilError as error:
        return "error", error
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told there
        if left_alone(error):
            return "lost", str(error).partition("\n")[0]
        return "fault", traceback.format_exc()


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
        The connection to the caller.
    rank, size
        The number of this worker, and of all workers.
    meeting
        The path of the file by which the workers find each other.
    digests
        The digests of files that may be run: they must not have changed since.
    work
        The function to call, as ``work(task, collective, caller)``.
    task
        The task of this worker.
    """
    begin_process(digests)
    torch.set_num_threads(1)
    lock = threading.Lock()

    def tell(kind: str, message: Any) -> None:
        with lock:
            end.send((kind, message))

    def ask(question: Any) -> Any:
        tell("question", question)
        return end.recv()

    def join_and_work() -> Any:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "gloo", init_method=f"file://{meeting}", rank=rank, world_size=size, timeout=PATIENCE
        )
        return work(task, GlooCollective(), Caller(lambda *message: tell("progress", message), ask))

    kind, message = perform(join_and_work)
    tell(kind, message)
    if kind == "result":
        # Others may still wait for what this one has sent.
        with suppress(RuntimeError):
            dist.barrier()


class ProcessWorkers:
    """Workers are fresh processes of this machine, which end with this one; they talk by gloo over the loopback address."""

    def run(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        progress: Progress | None,
        answer: Answer = no_answer,
    ) -> list[Any]:
        """Return the workers' results, in their order.

        Parameters
        ----------
        work, tasks, progress, answer
            As for `Workers.run`.
        """
        check_room(len(tasks), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "this machine")
        how = ""
        for _ in range(RESTARTS + 1):
            with scratch("meeting") as folder:
                results = _once(work, tasks, folder / "meeting", progress, answer)
            if not isinstance(results, str):
                return results
            how = results
        raise WorkersLostError(how)


def _once(
    work: Callable[..., Any], tasks: Sequence[Any], meeting: Path, progress: Progress | None, answer: Answer
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
        return _listen(ends, progress, answer)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def _listen(ends: list[Connection], progress: Progress | None, answer: Answer = no_answer) -> list[Any] | str:
    results: dict[int, Any] = {}
    while len(results) < len(ends):
        waiting = [end for rank, end in enumerate(ends) if rank not in results]
        for end in wait(waiting):
            assert isinstance(end, Connection)
            rank = ends.index(end)
            try:
                kind, message = end.recv()
                if kind == "question":
                    end.send(answer(message))
            except (EOFError, OSError):
                return f"worker {rank} ended"
            if kind == "progress" and progress is not None:
                progress(*message)
            elif kind == "lost":
                _raise_why(ends)
                return f"worker {rank}: {message}"
            elif kind == "result":
                results[rank] = message
            else:
                raise_failure(rank, kind, message)
    return [results[rank] for rank in range(len(ends))]


def _raise_why(ends: list[Connection]) -> None:
    """Raise what a worker has said that left others alone, where it ended on its own; a killed one has said nothing."""
    for rank, end in enumerate(ends):
        with suppress(EOFError, OSError):
            while end.poll():
                raise_failure(rank, *end.recv())


def raise_failure(rank: int, kind: str, message: Any) -> None:
    """Raise what a worker has told, where it is an error or a fault.

    Parameters
    ----------
    rank
        The worker.
    kind, message
        What it has told, as `perform` returns it.
    """
    if kind == "error":
        raise message
    if kind == "fault":
        raise RuntimeError(f"worker {rank} failed:\n{message}")


# What stands in every error of a message that did not arrive.
GLOO = "gloo"
# Integers and truths travel as these, which gloo adds up.
WHOLE, REAL = np.dtype(np.int64), np.dtype(np.float64)


class GlooCollective:
    """The processes of torch's default group, which must be there. It counts the bytes of rows that this one has sent."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.sent_bytes = 0

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        kind = values.dtype if values.dtype.kind == "f" else WHOLE
        total = torch.from_numpy(np.array(values, dtype=kind))
        dist.all_reduce(total)
        summed: NDArray[Any] = total.numpy()
        return summed

    def gather(self, rows: NDArray[Any]) -> NDArray[Any]:
        lengths = np.zeros(self.size, dtype=np.int64)
        lengths[self.rank] = len(rows)
        counts: list[int] = self.sum(lengths).tolist()
        most = max(counts)
        # What gathers wants parts of one length.
        filled = np.zeros((most, *rows.shape[1:]), dtype=rows.dtype)
        filled[: len(rows)] = rows
        own = torch.from_numpy(filled.view(np.uint8) if filled.dtype == np.bool_ else filled)
        parts = [torch.empty_like(own) for _ in counts]
        dist.all_gather(parts, own)
        whole = [part.numpy()[:count] for part, count in zip(parts, counts, strict=True)]
        joined: NDArray[Any] = np.concatenate(whole)
        return joined.view(rows.dtype) if joined.dtype != rows.dtype else joined

    def swap(self, sent: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        lengths = np.zeros((self.size, self.size), dtype=np.int64)
        lengths[self.rank] = [len(each) for each in sent]
        coming = self.sum(lengths)[:, self.rank].tolist()
        room = [torch.empty(count, dtype=torch.int64) for count in coming]
        self._post([torch.from_numpy(np.array(each, dtype=np.int64)) for each in sent], room).wait()
        return [each.numpy() for each in room]

    def post(self, sent: Sequence[Tensor], into: Sequence[Tensor]) -> Posted:
        self.sent_bytes += sum(
            each.numel() * each.element_size() for peer, each in enumerate(sent) if peer != self.rank
        )
        return self._post(sent, into)

    def _post(self, sent: Sequence[Tensor], into: Sequence[Tensor]) -> Posted:
        on_their_way: list[Any] = []
        for step in range(self.size):
            # Everybody begins with the next one, so that no worker is asked by all at once.
            there, here = (self.rank + step) % self.size, (self.rank - step) % self.size
            if step == 0:
                into[here].copy_(sent[there])
                continue
            if into[here].numel():
                on_their_way.append(dist.irecv(into[here], here))
            if sent[there].numel():
                on_their_way.append(dist.isend(sent[there], there))
        return _OnTheirWay(on_their_way, sent)

    def __repr__(self) -> str:
        return f"GlooCollective({self.rank} of {self.size})"


def left_alone(error: BaseException) -> bool:
    """Return whether an error says that a message did not arrive because its sender is gone.

    Any other error is a fault.
    """
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and GLOO in str(error))


class _OnTheirWay:
    """Messages that have been posted; what is sent is kept until it has left."""

    def __init__(self, messages: list[Any], kept: Sequence[Tensor]) -> None:
        self.messages, self.kept = messages, kept

    def wait(self) -> None:
        for message in self.messages:
            message.wait()
        self.kept = ()
