"""What workers that hold a part of a graph each learn, beside what one process learns: ``python -m benchmarks.parts_equality``.

After one epoch scores must be those of one process but for rounding; after twenty, rounding has grown with every step, and
accuracies are compared. veil has the candidates that parts have (``candidates=shared``) on both sides.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.result import print_lines
from graphveil import learn
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, learn_unit, open_unit
from graphveil.graphs.graph import Graph
from graphveil.scale.part_users import SharedUsers
from graphveil.scale.partition_learning import (
    PartOutcome,
    PartWork,
    joined,
    learn_part,
    stripped,
)
from graphveil.scale.partitioned_graph import Division, cut_part, divide_graph
from graphveil.scale.workers import Caller, ProcessWorkers

METHODS = ("base", "lpgnn", "upgnet", "ldpge", "veil")
# The users of a town, and by how many points accuracies may differ after many epochs.
GRAPHS = {"cora": (None, 0.3), "facebook": (None, 0.1), "town": (100_000, 0.1)}
WORKERS = (1, 2, 4)
FEW, MANY = 1, 20
# How much scores may differ after few epochs, as a share of the largest.
ALLOWED = 1e-4
EPSILON = 4.0
HEADER = ("method", "data", "workers", "epochs", "difference", "points", "accuracy", "met")

# A spec, and which part of its run.
Case = tuple[Experiment, str]


@dataclass(frozen=True)
class Compared:
    """One run in parts beside the same in one process.

    ``difference`` is that of scores, the largest over the largest score; ``points`` that of accuracies (in one process: ``accuracy``).
    """

    method: str
    data: str
    workers: int
    epochs: int
    difference: float
    points: float
    accuracy: float

    @property
    def met(self) -> bool:
        """Whether both are as near as they have to be."""
        near = self.points <= GRAPHS[self.data][1]
        return near and (self.epochs != FEW or self.difference <= ALLOWED)

    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        numbers = f"{self.difference:.1e}", f"{self.points:.2f}", f"{100 * self.accuracy:.1f}"
        run = self.method, self.data, str(self.workers), str(self.epochs)
        return *run, *numbers, "yes" if self.met else "NO"


def compare(
    methods: Sequence[str] = METHODS, graphs: Sequence[str] = tuple(GRAPHS), workers: Sequence[int] = WORKERS
) -> Iterator[Compared]:
    """All runs of some methods on some graphs, with each number of workers."""
    for data in graphs:
        plan = [(method, epochs) for method in methods for epochs in (FEW, MANY)]
        cases: list[Case] = [(experiment_of(method, data, epochs), "method") for method, epochs in plan]
        alone = [_in_one_process(*case) for case in cases]
        for count in workers:
            for (method, epochs), before, (ready, found) in zip(
                plan, alone, by_workers(cases, count), strict=True
            ):
                expected, accuracy = before
                reached = ready.users.evaluate(found.scores, ready.graph)
                difference = float(np.abs(found.scores - expected).max() / np.abs(expected).max())
                points = 100 * abs(reached - accuracy)
                yield Compared(method, data, count, epochs, difference, points, accuracy)


def experiment_of(method: str, data: str, epochs: int) -> Experiment:
    """One run of a method on a graph."""
    users = GRAPHS[data][0]
    settings: dict[str, Any] = {"epochs": epochs}
    settings |= {} if users is None else {"data.users": users}
    settings |= {"candidates": "shared"} if method == "veil" else {}
    return Experiment.of(method, data, epsilon=EPSILON, settings=settings)


def by_workers(
    cases: Sequence[Case], workers: int, divide: Callable[[Graph, int], Division] = divide_graph
) -> list[tuple[Any, Any]]:
    """The first run of each case as it was ready, and what workers learned in it; they are started once for all cases."""
    ready = [open_unit(RunUnit(spec, part)) for spec, part in cases]
    divided = [divide(each.job.graph, workers) for each in ready]
    users = [SharedUsers(each.job.users) for each in ready]
    tasks = [
        [
            PartWork(
                each.method.name,
                stripped(each.job),
                cut_part(each.job.graph, division.order, division.bounds, rank),
                spec.load_code,
            )
            for (spec, _), each, division in zip(cases, ready, divided, strict=True)
        ]
        for rank in range(workers)
    ]
    told = ProcessWorkers().run(_learn_each, tasks, None, lambda asked: users[asked[0]].answer(asked[1]))
    found = [
        joined(parts, division.cut) for parts, division in zip(zip(*told, strict=True), divided, strict=True)
    ]
    return list(zip(ready, found, strict=True))


def _learn_each(tasks: Sequence[PartWork], collective: Any, caller: Caller) -> list[PartOutcome]:
    def ask(case: int, question: Any) -> Any:
        return caller.ask((case, question))

    return [learn_part(task, collective, Caller(ask=partial(ask, case))) for case, task in enumerate(tasks)]


def _in_one_process(spec: Experiment, part: str) -> tuple[Any, float]:
    with learn.one_thread():
        ready, outcome = learn_unit(RunUnit(spec, part))
    return outcome.scores, ready.users.evaluate(outcome.scores, ready.graph)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each run; the exit status is 1 if any is not as near as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts_equality", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--data", nargs="+", choices=tuple(GRAPHS), default=tuple(GRAPHS))
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    options = parser.parse_args(arguments)
    return print_lines(HEADER, compare(options.methods, options.data, options.workers))


if __name__ == "__main__":
    sys.exit(main())
