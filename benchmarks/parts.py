"""A hop by workers that hold a part of a graph each, against the same hop in one process; and what travels for it.

The town is generated in shards. In each repetition the first worker multiplies the whole matrix by 16 columns while the others wait,
then all multiply their parts at the same time: what counts is the clock, as a hop waits for rows that travel. All run on one
thread each. With fewer processors than workers they take turns, and a ratio says nothing.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.result import Result, Sizes
from benchmarks.traffic import halo_rows
from graphveil.graphs import Graph
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.town import Town
from graphveil.linear.propagation import gcn_matrix
from graphveil.scale import Shards, open_shards
from graphveil.scale.partition_learning import give_back_at_once
from graphveil.scale.partitioned_matrix import PartitionedMatrix
from graphveil.scale.shard_learning import shard_part
from graphveil.scale.sharded_town import write_town
from graphveil.scale.workers import ProcessWorkers

COLUMNS, PARTITIONS = 16, 4
HOP_TARGET = 1.2
# Users of the town, and where nothing is measured that counts.
USERS, FEW_USERS, FEW_DIMENSIONS = 1_000_000, 20_000, 1000


@dataclass(frozen=True)
class Hops:
    """Seconds of each repetition, by the clock and of the processor, in one process and by all workers; and what one hop sends."""

    alone: list[tuple[float, float]]
    together: list[tuple[float, float]]
    sent_bytes: int
    needed_rows: int
    peak_mb: float


def run(sizes: Sizes) -> list[Result]:
    """A hop with two workers, and the traffic of it."""
    users = FEW_USERS if sizes.dimensions < FEW_DIMENSIONS else USERS
    with tempfile.TemporaryDirectory() as folder:
        town = Path(folder) / "town"
        write_town(Town(users=users), town, partitions=PARTITIONS)
        return measured(town, 2, sizes.repetitions)


def measured(town: Path, workers: int, repetitions: int) -> list[Result]:
    """The results of one number of workers."""
    told: list[Hops] = ProcessWorkers().run(hops, [(town, repetitions)] * workers, None)
    users = open_shards(town).users
    case = f"{users:,} users, {COLUMNS} columns, {workers} workers"
    formula = sum(part.needed_rows for part in told) * COLUMNS * 4
    sent = sum(part.sent_bytes for part in told)
    expected = halo_rows(Town(users=users), workers) * workers * COLUMNS * 4
    return [
        _hop(case, told, 0, HOP_TARGET),
        _hop(f"{case}: processor", told, 1, HOP_TARGET),
        Result(
            "parts",
            f"traffic of a hop: {case}",
            "halo rows x columns x 4 bytes",
            "MB",
            sent / 1e6,
            formula / 1e6,
            1.0,
        ),
        Result("parts", f"traffic of a hop: {case}", "expected of a town", "MB", sent / 1e6, expected / 1e6),
    ]


def _hop(case: str, told: list[Hops], clock: int, target: float) -> Result:
    """A hop by one of the clocks: that of the slowest worker."""
    alone = [each[clock] for each in told[0].alone]
    together = [
        max(each[clock] for each in turn) for turn in zip(*(part.together for part in told), strict=True)
    ]
    ratios = [ours / theirs for ours, theirs in zip(together, alone, strict=True)]
    median = float(np.median(ratios))
    return Result("parts", f"a hop: {case}", "one process", "s", min(together), min(alone), target, median)


def hops(task: tuple[Path, int], collective: Collective, _: Any = None) -> Hops:
    """What one worker measures."""
    give_back_at_once()
    town, repetitions = task
    shards = open_shards(town)
    part = shard_part(shards, collective)
    matrix = gcn_matrix(part)
    assert isinstance(matrix, PartitionedMatrix)
    rows = torch.randn(part.node_count, COLUMNS)
    out = torch.empty_like(rows)
    whole = None
    if collective.rank == 0:
        everybody = _plain(shards)
        whole = (
            gcn_matrix(everybody),
            torch.randn(everybody.node_count, COLUMNS),
            torch.empty(everybody.node_count, COLUMNS),
        )
    alone, together, sent = [], [], 0
    for repetition in range(repetitions + 1):
        start = time.perf_counter(), time.process_time()
        if whole is not None:
            whole[0].multiply(whole[1], whole[2])
        taken = time.perf_counter() - start[0], time.process_time() - start[1]
        collective.sum(np.zeros(1))
        before = getattr(collective, "sent_bytes", 0)
        start = time.perf_counter(), time.process_time()
        matrix.multiply(rows, out)
        both = time.perf_counter() - start[0], time.process_time() - start[1]
        sent = getattr(collective, "sent_bytes", 0) - before
        collective.sum(np.zeros(1))
        # The first round fills caches.
        if repetition:
            alone.append(taken)
            together.append(both)
    return Hops(alone, together, sent, len(part.halo), 0.0)


def _plain(shards: Shards) -> Graph:
    """The whole graph in one process, as it is where nobody divides it."""
    part, targets = shard_part(shards, SINGLE_PROCESS), shards.edges(0, shards.partition_count)
    held = {field.name: getattr(part, field.name) for field in fields(Graph)}
    return Graph(**{**held, "indices": targets})
