"""Learn a job in parts: divide its graph, start workers, and put together what they learned."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.engine import CHECKPOINT_EVERY
from graphveil.graphs.collective import Collective
from graphveil.methods.job import Job, Questions
from graphveil.methods.method import METHODS, check_parts
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Nobody
from graphveil.scale.part_users import PartUsers, SharedUsers
from graphveil.scale.partitioned_graph import GraphPartition, cut_part, divide_graph
from graphveil.scale.workers import Caller, Progress, Workers
from graphveil.settings import peak_megabytes


def learn_in_parts(
    method: str,
    job: Job,
    workers: Workers,
    count: int,
    load: Callable[[], None],
    *,
    checkpoints: Checkpointing | None = None,
) -> Outcome:
    """Run a method on a job by several workers, with a part of the graph each, and return the outcome.

    Users stay in this process, where workers ask them.

    Parameters
    ----------
    method
        The name of the method.
    job
        The job, with the whole graph and all users.
    workers
        The workers to run it on.
    count
        The number of workers.
    load
        A function that each worker calls to load the libraries, before any data.
    checkpoints
        The folder and the interval of checkpoints; None writes none.
    """
    check_parts(METHODS.find(method), job)
    job.say("dividing the graph", 0.0)
    division = divide_graph(job.graph, count)
    bare = stripped(job)
    tasks = [
        PartWork(
            method,
            bare,
            cut_part(job.graph, division.order, division.bounds, rank),
            load,
            checkpoints,
            job.max_memory,
        )
        for rank in range(count)
    ]
    parts = workers.run(learn_part, tasks, job.progress, SharedUsers(job.users).answer)
    return joined(parts, division.cut)


def joined(parts: Sequence[PartOutcome], cut: float) -> Outcome:
    """Return one outcome for all users, in the order of their numbers, with what each worker took."""
    first = parts[0].outcome
    numbers = np.concatenate([part.original for part in parts])

    def rows(name: str) -> Any:
        held = [getattr(part.outcome, name) for part in parts]
        if held[0] is None:
            return None
        whole = np.empty((len(numbers), *held[0].shape[1:]), dtype=held[0].dtype)
        whole[numbers] = np.concatenate(held)
        return whole

    stages = {stage: max(part.outcome.seconds[stage] for part in parts) for stage in first.seconds}
    return replace(
        first,
        scores=rows("scores"),
        embedding=rows("embedding"),
        seconds=stages,
        also={**first.also, **worker_numbers(parts), "cut_share": cut},
    )


def worker_numbers(parts: Sequence[PartOutcome]) -> dict[str, float]:
    """Return the number of workers, and the memory and the traffic of each in megabytes.

    ``beyond`` is the memory without libraries.
    """
    numbers = {"workers": float(len(parts))}
    for rank, part in enumerate(parts):
        numbers[f"worker_{rank}_peak_mb"] = part.peak_mb
        numbers[f"worker_{rank}_idle_mb"] = part.idle_mb
        numbers[f"worker_{rank}_beyond_mb"] = part.peak_mb - part.idle_mb
        numbers[f"worker_{rank}_sent_mb"] = part.sent_bytes / 1e6
        numbers[f"worker_{rank}_users"] = float(part.users)
        numbers[f"worker_{rank}_halo_rows"] = float(part.halo_rows)
        numbers[f"worker_{rank}_products"] = float(part.products)
    return numbers


@dataclass(frozen=True)
class Checkpointing:
    """The folder of checkpoints, and the number of epochs between two of them."""

    folder: Path
    every: int = CHECKPOINT_EVERY


@dataclass(frozen=True)
class PartWork:
    """One worker's part of a job: the job without graph and users, and what it holds of the graph.

    ``load`` is called first, in a process that has loaded nothing but graphveil: it makes names of files known.
    """

    method: str
    job: Job
    graph: dict[str, Any]
    load: Callable[[], None]
    checkpoints: Checkpointing | None = None
    most_gigabytes: float | None = None


@dataclass(frozen=True)
class PartOutcome:
    """The outcome of a worker for its users (their ``original`` numbers), and what it took.

    ``sent_bytes`` are those of rows that it sent for products, ``products`` how many there were, ``halo_rows`` how many rows each one sent.
    ``idle_mb`` is what it had taken before it read its part: libraries, the same for any number of workers. ``users`` are its own.
    """

    original: NDArray[np.int64]
    outcome: Outcome
    peak_mb: float
    sent_bytes: int = 0
    products: int = 0
    halo_rows: int = 0
    idle_mb: float = 0.0
    users: int = 0


def stripped(job: Job) -> Job:
    """A job that can be sent to other processes: without its graph, its users, its questions and its progress callback."""
    nothing: Any = None
    return replace(job, graph=nothing, users=Nobody(), questions=Questions(), progress=None)


def learn_part(work: PartWork, collective: Collective, caller: Caller) -> PartOutcome:
    """Learn as one worker of a collective; every other one does the same at the same time.

    Parameters
    ----------
    work
        This worker's part of the job.
    collective
        The workers that learn together.
    caller
        The process that started it, which asks the users.
    """
    idle = loaded(work.load, work.most_gigabytes)
    part = GraphPartition(**work.graph, collective=collective)
    job = replace(work.job, users=PartUsers(part, caller.ask))
    return replace(learn_on(part, job, work, caller.progress), idle_mb=idle)


def loaded(load: Callable[[], None], most_gigabytes: float | None = None) -> float:
    """Load all that learning takes, before any data; the megabytes that this process has then."""
    give_back_at_once()
    load()
    import_module("graphveil.learn.backbones")
    idle = peak_megabytes()
    if most_gigabytes is not None and idle / 1000 > most_gigabytes:
        raise InputError(
            f"libraries alone take {idle / 1000:.2f} GB before anything is read, above the {most_gigabytes:g} GB that --max-memory allows: "
            "allow more"
        )
    return idle


def learn_on(part: GraphPartition, job: Job, work: Any, progress: Progress | None) -> PartOutcome:
    """Run a method on a part of the graph that is loaded, with users who answer.

    Parameters
    ----------
    part
        The worker's part of the graph.
    job
        The job, with the users of the part.
    work
        The task: the name of the method, the checkpoints and the memory limit.
    progress
        Called, in the first worker, with what is being done and how far it is.
    """

    def watch(what: str, share: float) -> None:
        peak, most = peak_megabytes() / 1000, work.most_gigabytes
        if most is not None and peak > most:
            raise InputError(
                f"a worker took {peak:.2f} GB, above the {most:g} GB that --max-memory allows: take more workers, or allow more"
            )
        if progress is not None and part.collective.rank == 0:
            progress(what, share)

    kept = work.checkpoints
    checkpoints = None if kept is None else learn.Checkpoints(kept.folder, kept.every, part.collective)
    job = replace(job, graph=part, progress=watch, training=replace(job.training, checkpoints=checkpoints))
    with learn.one_thread():
        outcome = METHODS.find(work.method).run(job)
    watch("done", 1.0)
    gc.collect()
    products = sum(getattr(links, "exchanges", 0) for links in part.cache.values())
    traffic = getattr(part.collective, "sent_bytes", 0), products
    return PartOutcome(
        part.original, outcome, peak_megabytes(), *traffic, len(part.halo), users=part.node_count
    )


# glibc's number of the setting (malloc.h), and from how many bytes on a block is asked of the system, and given back, by itself.
M_MMAP_THRESHOLD = -3
LARGE = 1 << 20


def give_back_at_once() -> None:
    """Let every large block be the system's again as soon as it is free, for the rest of this process.

    Left to itself, glibc keeps blocks below 32 MB: a matrix of half a million rows of 16 columns is just smaller, that of a million larger, so
    that each of two workers would hold nearly as much as one. pyarrow keeps what it has read, unless it takes memory as others do.
    """
    if sys.platform == "linux":
        # Without effect where the C library is another one.
        getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)(M_MMAP_THRESHOLD, LARGE)
    try:
        import pyarrow
    except ImportError:
        return
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
