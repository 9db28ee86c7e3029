"""Learn a job in parts: divide its graph, start workers, and put together what they learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphveil.engine.crew import Crew
from graphveil.engine.dividing import divide_graph
from graphveil.engine.house import House
from graphveil.engine.part_work import Keeping, PartOutcome, PartWork, learn_part, stripped
from graphveil.graphs.part import cut_part
from graphveil.methods.job import Job
from graphveil.methods.method import METHODS, check_parts
from graphveil.methods.tasks import Outcome


def learn_in_parts(
    method: str,
    job: Job,
    crew: Crew,
    workers: int,
    load: Callable[[], None],
    *,
    host: str = "127.0.0.1",
    keeping: Keeping | None = None,
) -> Outcome:
    """What a method learns in a job, by so many workers with a part of the graph each.

    Users stay here: workers ask them by a connection to ``host``, an address of this machine.
    """
    check_parts(METHODS.find(method), job)
    job.say("dividing the graph", 0.0)
    division = divide_graph(job.graph, workers)
    bare = stripped(job)
    with House(job.users, host) as house:
        tasks = [
            PartWork(
                method,
                bare,
                cut_part(job.graph, division.order, division.bounds, rank),
                house.address,
                load,
                keeping,
                job.max_memory,
            )
            for rank in range(workers)
        ]
        parts = crew.run(learn_part, tasks, job.progress)
    return joined(parts, division.cut)


def joined(parts: Sequence[PartOutcome], cut: float) -> Outcome:
    """One outcome for all users, in the order of their numbers; what each worker took stands beside it."""
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
    """How many workers there were, and the memory and the traffic of each, in megabytes; ``beyond`` is without libraries."""
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
