"""One part of one run on a sharded graph: workers hold some of its partitions each, or one process reads them from disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.engine.crew import Crew
from graphveil.engine.learning import worker_numbers
from graphveil.engine.part_work import Keeping, PartOutcome, learn_on, loaded
from graphveil.engine.shard_part import partitions_of, shard_part
from graphveil.engine.shard_users import ShardUsers
from graphveil.errors import InputError
from graphveil.experiments.runs.parts import PARTS
from graphveil.experiments.runs.privacy_record import privacy_record
from graphveil.experiments.runs.shard_files import RowFiles
from graphveil.experiments.runs.unit import UnitResult, check_cost, make_job
from graphveil.experiments.specs.outside_names import load_names
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.graphs.part import GraphPart
from graphveil.graphs.shards import Shards, open_shards
from graphveil.graphs.tables import load_library
from graphveil.graphs.world import ALONE, World
from graphveil.mechanisms import entry
from graphveil.methods import find_method
from graphveil.methods.backbone_names import check_backbone
from graphveil.methods.job import Progress


@dataclass(frozen=True)
class ShardWork:
    """What each worker is given: the same for all of them, as each reads its own partitions.

    ``on_disk`` leaves the links there, in a process alone. Into ``out`` go predictions or embeddings, a file a partition.
    """

    spec: Spec
    part: Part
    run: int
    folder: Path
    method: str
    keeping: Keeping | None = None
    most_gigabytes: float | None = None
    on_disk: bool = False
    out: RowFiles | None = None


@dataclass(frozen=True)
class ShardOutcome:
    """What a worker brings back: no row of a user, but counts, what was spent, and what it took."""

    taken: PartOutcome
    hits: int
    tested: int
    privacy: dict[str, Any]
    asked: int


def run_shard_unit(
    spec: Spec,
    part: Part,
    run: int,
    progress: Progress | None,
    *,
    crew: Crew | None,
    workers: int,
    keeping: Keeping | None = None,
    out: RowFiles | None = None,
) -> UnitResult:
    """Learn from a sharded graph and score it, by a crew of workers, or in this process from disk where there is no crew."""
    start = time.perf_counter()
    method = PARTS[part].method_of(spec).name
    folder = Path(spec.data).expanduser()
    work = ShardWork(
        spec, part, run, folder, method, keeping, spec.machine.max_memory, on_disk=crew is None, out=out
    )
    shards = open_shards(folder)
    check_shards(spec, shards)
    partitions_of(shards, 0, workers)
    if crew is None:
        parts = [learn_shards(work, ALONE, progress)]
    else:
        parts = crew.run(learn_shards, [work] * workers, progress)
    return _unit(part, run, parts, time.perf_counter() - start, shared=crew is not None)


def check_shards(spec: Spec, shards: Shards) -> None:
    """Refuse, before anybody is started, what is not learned from a sharded graph."""
    if spec.task != "node" or shards.manifest.metric != "accuracy":
        raise InputError(
            "on a sharded graph classes are predicted and measured by accuracy: load it whole for anything else"
        )
    if not spec.turnout.complete or spec.has_levels or spec.loader_options:
        raise InputError(
            "on a sharded graph everybody answers, without levels, and with the split of its files: leave out participation, levels and "
            "data.… settings"
        )


def learn_shards(work: ShardWork, world: World, progress: Progress | None = None) -> ShardOutcome:
    """Learn as one worker of a world, from the partitions that fall to it."""
    spec, seed = work.spec, work.spec.seed + work.run
    idle = loaded(partial(_load, spec), work.most_gigabytes)
    check_backbone(spec.backbone)
    shards, method = open_shards(work.folder), find_method(work.method)
    part = shard_part(shards, world, on_disk=work.on_disk)
    public = part.without_labels() if spec.budgets.private_labels else part
    assert isinstance(public, GraphPart)
    job = make_job(spec, work.part, method, public, seed, None)
    questions = method.questions(job)
    check_cost(spec, work.part, questions)
    users = ShardUsers(
        shards,
        part,
        partitions_of(shards, world.rank, world.size),
        seed,
        blind=PARTS[work.part].blind,
        unsound=not entry(spec.budgets.mechanism).sound,
    )
    users.open(questions.needed(part.node_count), questions.cost.delta)
    taken = replace(learn_on(public, replace(job, users=users), work, progress), idle_mb=idle)
    scores = taken.outcome.scores
    assert scores is not None
    if work.out is not None:
        work.out.write(part, users, taken.outcome)
    hits, tested = users.hits(scores) if shards.simulated else (0, 0)
    records = [privacy_record(ledger, ()) for ledger in users.ledgers]
    privacy = _added([record.to_dict() for record in records])
    asked = sum(int(ledger.ever_asked.sum()) for ledger in users.ledgers)
    bare = replace(taken.outcome, scores=None, embedding=None)
    return ShardOutcome(
        replace(taken, outcome=bare, original=np.empty(0, dtype=np.int64)), hits, tested, privacy, asked
    )


def _load(spec: Spec) -> None:
    load_names(spec)
    load_library()


def _added(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One record for the users of all partitions, who were asked the same: the costliest one, with everybody counted."""
    whole = max(records, key=lambda record: (record["total"] or {"epsilon": 0.0})["epsilon"])
    rounds = [dict(each) for each in whole["rounds"]]
    for place, each in enumerate(rounds):
        each["users"] = sum(
            record["rounds"][place]["users"] for record in records if len(record["rounds"]) > place
        )
    return {**whole, "rounds": rounds}


def _unit(part: Part, run: int, parts: Sequence[ShardOutcome], seconds: float, *, shared: bool) -> UnitResult:
    taken = [each.taken for each in parts]
    first = taken[0].outcome
    stages = {stage: max(each.outcome.seconds[stage] for each in taken) for stage in first.seconds}
    tested, asked = sum(each.tested for each in parts), sum(each.asked for each in parts)
    score = sum(each.hits for each in parts) / tested if tested else first.validation_score
    return UnitResult(
        part,
        run,
        score,
        first.detail,
        _added([each.privacy for each in parts]),
        {**stages, "total": seconds},
        max(each.peak_mb for each in taken),
        {**first.also, **(worker_numbers(taken) if shared else {"on_disk": 1.0})},
        asked,
        asked,
    )
