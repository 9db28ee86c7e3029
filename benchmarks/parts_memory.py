"""What a worker takes in memory, by how many there are: ``python -m benchmarks.parts_memory SHARDS``.

Each worker holds a part of a sharded graph (``graphveil graph town --out SHARDS --users 10000000 --partitions 16``) and learns `base` for a few
epochs. What counts is the largest peak beyond libraries, which every worker has loaded before it reads anything: it has to fall nearly as
1/workers. Where a part is small, it does not: some 40 MB are there with any number of users.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.result import print_lines
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit
from graphveil.scale.shard_learning import ShardTask, run_shard_unit
from graphveil.scale.workers import ProcessWorkers

WORKERS = (1, 2, 4)
EPSILON = 4.0
SETTINGS = {"epochs": 3, "lr": 0.1, "input_share": 1}
# "Nearly": what a worker takes, times how many there are, may be so much more than what one takes alone.
NEARLY = 1.1
HEADER = (
    "workers",
    "users each",
    "rows sent a hop",
    "peak MB",
    "beyond libraries",
    "share of one",
    "1/workers",
    "seconds",
    "met",
)


@dataclass(frozen=True)
class Taken:
    """What the worker that takes most had at its peak, in megabytes, in all and beyond libraries; ``alone`` is the latter of one worker."""

    workers: int
    users: float
    rows: float
    peak: float
    beyond: float
    seconds: float
    alone: float

    @property
    def share(self) -> float:
        """Beyond libraries, as a share of what one worker takes."""
        return self.beyond / self.alone

    @property
    def met(self) -> bool:
        """Whether that is nearly 1/workers."""
        return self.share * self.workers <= NEARLY

    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        counted = str(self.workers), f"{self.users:,.0f}", f"{self.rows:,.0f}"
        taken = f"{self.peak:,.0f}", f"{self.beyond:,.0f}", f"{self.share:.3f}", f"{1 / self.workers:.3f}"
        return *counted, *taken, f"{self.seconds:.0f}", "yes" if self.met else "NO"


def measure(shards: Path, workers: Sequence[int] = WORKERS) -> Iterator[Taken]:
    """One line for each number of workers, the smallest first: it stands for one worker where it is none."""
    spec = Experiment.of("base", str(shards), epsilon=EPSILON, settings=SETTINGS)
    alone = None
    for count in sorted(workers):
        start = time.perf_counter()
        told = run_shard_unit(ShardTask(RunUnit(spec)), count, ProcessWorkers()).also
        users, rows, peak, beyond = (
            max(told[f"worker_{rank}_{name}"] for rank in range(count))
            for name in ("users", "halo_rows", "peak_mb", "beyond_mb")
        )
        alone = beyond * count if alone is None else alone
        yield Taken(count, users, rows, peak, beyond, time.perf_counter() - start, alone)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each number of workers; the exit status is 1 if memory does not fall as it has to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts_memory", description=__doc__)
    parser.add_argument("shards", type=Path, help="The folder of a sharded graph.")
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    options = parser.parse_args(arguments)
    return print_lines(HEADER, measure(options.shards, options.workers))


if __name__ == "__main__":
    sys.exit(main())
