"""What a worker is given, what it does, and what it brings back."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.engine.crew import EVERY
from graphveil.engine.house import Address, WorkerQuestion
from graphveil.engine.memory import give_back_at_once
from graphveil.engine.part_users import PartUsers
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import World
from graphveil.methods.job import Job, Questions
from graphveil.methods.method import find_method
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Nobody
from graphveil.settings import peak_megabytes


@dataclass(frozen=True)
class Keeping:
    """Where checkpoints are, and each how many epochs one is written."""

    folder: Path
    every: int = EVERY


@dataclass(frozen=True)
class PartWork:
    """One worker's part of a job: the job without graph and users, what it holds of the graph, and where users are asked.

    ``load`` is called first, in a process that has loaded nothing but graphveil: it makes names of files known.
    """

    method: str
    job: Job
    graph: dict[str, Any]
    users: Address
    load: Callable[[], None]
    keeping: Keeping | None = None
    most_gigabytes: float | None = None


@dataclass(frozen=True)
class PartOutcome:
    """What a worker learned of its users (their ``original`` numbers), and what that took.

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
    """A job that can be sent to other processes: without its graph, its users, its questions, and whoever is told of progress."""
    nothing: Any = None
    return replace(job, graph=nothing, users=Nobody(), questions=Questions(), progress=None)


def learn_part(
    work: PartWork, world: World, progress: Callable[[str, float], None] | None = None
) -> PartOutcome:
    """Learn as one worker of a world; every other one does the same at the same time."""
    idle = loaded(work.load, work.most_gigabytes)
    part = GraphPart(**work.graph, world=world)
    users = PartUsers(part, WorkerQuestion(work.users))
    return replace(learn_on(part, replace(work.job, users=users), work, progress), idle_mb=idle)


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


def learn_on(
    part: GraphPart, job: Job, work: Any, progress: Callable[[str, float], None] | None
) -> PartOutcome:
    """Run a method on a part that is there, with users who answer."""
    watched = _Watched(progress if part.world.rank == 0 else None, work.most_gigabytes)
    keeping = work.keeping
    checkpoints = None if keeping is None else learn.Checkpoints(keeping.folder, keeping.every, part.world)
    job = replace(job, graph=part, progress=watched, checkpoints=checkpoints)
    with learn.one_thread():
        outcome = find_method(work.method).run(job)
    watched("done", 1.0)
    gc.collect()
    products = sum(getattr(made, "exchanges", 0) for made in part.made.values())
    traffic = getattr(part.world, "sent_bytes", 0), products
    return PartOutcome(
        part.original, outcome, peak_megabytes(), *traffic, len(part.halo), users=part.node_count
    )


class _Watched:
    """Progress that also looks at this worker's memory."""

    def __init__(self, told: Callable[[str, float], None] | None, most: float | None) -> None:
        self.told, self.most = told, most

    def __call__(self, what: str, share: float) -> None:
        peak = peak_megabytes() / 1000
        if self.most is not None and peak > self.most:
            raise InputError(
                f"a worker took {peak:.2f} GB, above the {self.most:g} GB that --max-memory allows: take more workers, or allow more"
            )
        if self.told is not None:
            self.told(what, share)
