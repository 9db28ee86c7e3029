"""Where a unit is computed: in this process, in another one, by workers that share a graph, or on a sharded graph."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from graphveil.engine.crew import EVERY, Crew
from graphveil.engine.engine import HERE, Engine
from graphveil.engine.learning import learn_in_parts, worker_numbers
from graphveil.engine.part_work import Keeping, PartOutcome, learn_on, loaded
from graphveil.engine.shard_users import ShardUsers, partitions_of, shard_part
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, check_same
from graphveil.experiments.store import results_file, this_version
from graphveil.experiments.unit import (
    RunUnit,
    UnitResult,
    check_cost,
    make_job,
    open_unit,
    run_unit,
    score_unit,
)
from graphveil.graphs.load import large_shards
from graphveil.graphs.part import GraphPart
from graphveil.graphs.shards import Shards, open_shards
from graphveil.graphs.tables import Column, Lists, load_library, write_table
from graphveil.graphs.world import ALONE, World
from graphveil.mechanisms import entry
from graphveil.methods import find_method
from graphveil.methods.job import Progress
from graphveil.methods.method import check_backbone
from graphveil.methods.tasks import Outcome
from graphveil.privacy.record import Privacy, privacy_record

CHECKPOINTS = "checkpoints"


def unit_checkpoints(unit: RunUnit, workers: int | None = None, every: int = EVERY) -> Keeping:
    """Return where the trainings of an unfinished unit are kept: in a folder named by all that they depend on."""
    inputs = (unit.key, unit.digest, this_version().source, workers)
    name = hashlib.sha256(repr(inputs).encode()).hexdigest()[:32]
    return Keeping(results_file().parent / CHECKPOINTS / name, every)


def remove_checkpoints(units: Iterable[RunUnit], workers: int | None = None) -> None:
    """Remove the checkpoints of units that are done, or are to begin anew."""
    if (results_file().parent / CHECKPOINTS).is_dir():
        for unit in units:
            _remove(unit_checkpoints(unit, workers).folder)


def _remove(folder: Path) -> None:
    """Remove the checkpoints of a unit, and the folder of all of them after the last."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


# Written last: a folder without it is not complete.
RECORD = "record.json"
RowKind = Literal["predictions", "embeddings"]


@dataclass(frozen=True)
class RowFiles:
    """A folder for rows of one kind, with a .parquet file for each partition of a sharded graph."""

    folder: Path
    kind: RowKind

    def make_folder(self) -> None:
        """Make the folder, so that an error comes before anything is learned; nothing is written over.

        A folder that is empty, or holds files of partitions without the record that is written last, was left by an interrupt: it is
        filled anew.
        """
        if self.folder.exists() and not self._was_interrupted():
            raise InputError(
                f"{self.folder} is there already: name a new folder, into which a file goes for each partition"
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be made ({error.strerror}): name another folder"
            ) from None

    def _was_interrupted(self) -> bool:
        return self.folder.is_dir() and all(
            each.match("part-[0-9][0-9][0-9][0-9]*") for each in self.folder.iterdir()
        )

    def write(self, part: GraphPart, users: ShardUsers, outcome: Outcome) -> None:
        """Write the rows of a worker's partitions: ``original``, ``id`` where users have one, and what was learned of each."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for partition, (begin, end) in zip(users.partitions, users.places, strict=True):
            columns: dict[str, Column] = {"original": part.original[begin:end]}
            if part.ids is not None:
                columns["id"] = part.ids[begin:end]
            columns |= self._columns(outcome, begin, end)
            write_table(self.folder / f"part-{partition:04d}.parquet", columns)

    def _columns(self, outcome: Outcome, begin: int, end: int) -> dict[str, Column]:
        if self.kind == "embeddings":
            if outcome.embedding is None:
                raise InputError("this method has no embedding: take another one, like base")
            rows = np.ascontiguousarray(outcome.embedding[begin:end])
            return {"embedding": Lists(rows.reshape(-1), rows.shape[1])}
        assert outcome.scores is not None
        scores = outcome.scores[begin:end]
        rows = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float32)
        rows /= rows.sum(axis=1, keepdims=True)
        return {
            "class": scores.argmax(axis=1).astype(np.int32),
            "probabilities": Lists(rows.reshape(-1), rows.shape[1]),
        }


@dataclass(frozen=True)
class ShardTask:
    """What each worker is given: the same for all of them, as each reads its own partitions.

    ``on_disk`` leaves the links there, in a process alone. Into ``out`` go predictions or embeddings, a file a partition.
    """

    unit: RunUnit
    keeping: Keeping | None = None
    on_disk: bool = False
    out: RowFiles | None = None

    @property
    def method(self) -> str:
        """The name of the method that learns."""
        return self.unit.role.method_of(self.unit.spec).name

    @property
    def most_gigabytes(self) -> float | None:
        """What a worker may take."""
        return self.unit.spec.machine.max_memory

    def shards(self) -> Shards:
        """Open the sharded graph."""
        return open_shards(Path(self.unit.spec.data).expanduser())


@dataclass(frozen=True)
class ShardOutcome:
    """What a worker brings back: no row of a user, but counts, what was spent, and what it took."""

    taken: PartOutcome
    hits: int
    tested: int
    privacy: Privacy
    asked: int


def run_shard_unit(
    task: ShardTask, workers: int, crew: Crew | None = None, progress: Progress | None = None
) -> UnitResult:
    """Learn from a sharded graph and score it, by a crew of workers, or in this process where there is no crew."""
    start = time.perf_counter()
    shards = task.shards()
    check_shards(task.unit.spec, shards)
    partitions_of(shards, 0, workers)
    if crew is None:
        outcomes = [learn_shards(task, ALONE, progress)]
    else:
        outcomes = crew.run(learn_shards, [task] * workers, progress)
    taken = [each.taken for each in outcomes]
    first = taken[0].outcome
    stages = {stage: max(each.outcome.seconds[stage] for each in taken) for stage in first.seconds}
    tested, asked = sum(each.tested for each in outcomes), sum(each.asked for each in outcomes)
    return UnitResult(
        task.unit.part,
        task.unit.run,
        sum(each.hits for each in outcomes) / tested if tested else first.validation_score,
        first.detail,
        _joined_privacy([each.privacy for each in outcomes]),
        {**stages, "total": time.perf_counter() - start},
        max(each.peak_mb for each in taken),
        {**first.also, **({"on_disk": 1.0} if crew is None else worker_numbers(taken))},
        asked,
        asked,
    )


def check_shards(spec: Experiment, shards: Shards) -> None:
    """Reject, before any worker is started, what is not learned from a sharded graph."""
    if spec.task != "node" or shards.manifest.metric != "accuracy":
        raise InputError(
            "on a sharded graph classes are predicted and measured by accuracy: load it whole for anything else"
        )
    if not spec.turnout.complete or spec.has_levels or spec.loader_options:
        raise InputError(
            "on a sharded graph everybody answers, without levels, and with the split of its files: leave out --participation, --levels and "
            "data.… settings"
        )


def learn_shards(task: ShardTask, world: World, progress: Progress | None = None) -> ShardOutcome:
    """Learn as one worker of a world, from the partitions that fall to it."""
    unit, spec = task.unit, task.unit.spec
    idle = loaded(partial(_load, spec), task.most_gigabytes)
    check_backbone(spec.backbone)
    shards, method = task.shards(), find_method(task.method)
    part = shard_part(shards, world, on_disk=task.on_disk)
    public = part.without_labels() if spec.budgets.private_labels else part
    assert isinstance(public, GraphPart)
    job = make_job(unit, method, public)
    questions = method.questions(job)
    check_cost(unit, questions)
    users = ShardUsers(
        shards,
        part,
        partitions_of(shards, world.rank, world.size),
        unit.seed,
        blind=unit.role.blind,
        unsound=not entry(spec.budgets.mechanism).sound,
    )
    users.open(questions.needed(part.node_count), questions.cost.delta)
    taken = replace(learn_on(public, replace(job, users=users), task, progress), idle_mb=idle)
    scores = taken.outcome.scores
    assert scores is not None
    if task.out is not None:
        task.out.write(part, users, taken.outcome)
    hits, tested = users.hits(scores) if shards.simulated else (0, 0)
    privacy = _joined_privacy([privacy_record(ledger, ()) for ledger in users.ledgers])
    asked = sum(int(ledger.ever_asked.sum()) for ledger in users.ledgers)
    bare = replace(taken.outcome, scores=None, embedding=None)
    return ShardOutcome(
        replace(taken, outcome=bare, original=np.empty(0, dtype=np.int64)), hits, tested, privacy, asked
    )


def _load(spec: Experiment) -> None:
    spec.load_code()
    load_library()


def _joined_privacy(records: Sequence[Privacy]) -> Privacy:
    """Return one record for the users of all partitions, who were asked the same: the costliest one, with everybody counted."""
    whole = max(records, key=lambda record: 0.0 if record.total is None else record.total.epsilon or 0.0)
    rounds = []
    for place, each in enumerate(whole.rounds):
        users = sum(record.rounds[place].users for record in records if len(record.rounds) > place)
        rounds.append(each.model_copy(update={"users": users}))
    return whole.model_copy(update={"rounds": rounds})


def compute_unit(
    unit: RunUnit, progress: Progress | None = None, engine: Engine = HERE, out: RowFiles | None = None
) -> UnitResult:
    """Compute a unit, in this process or by the engine's workers; a large sharded graph is read where it lies.

    Checkpoints of workers are removed when the unit is done. Into ``out`` go predictions or embeddings of a sharded graph.
    """
    named = unit.given is None
    shards = large_shards(unit.spec.data) if named else None
    if engine.workers is None and shards is None:
        return run_unit(unit, progress)
    crew = None if engine.workers is None else engine.crew()
    keeping = unit_checkpoints(unit, engine.workers, engine.checkpoint_every) if named else None
    if shards is not None:
        task = ShardTask(unit, keeping, on_disk=crew is None, out=out)
        result = run_shard_unit(task, engine.workers or 1, crew, progress)
    else:
        assert crew is not None and engine.workers is not None
        start = time.perf_counter()
        ready = open_unit(unit, progress)
        name, host = ready.method.name, engine.host()
        outcome = learn_in_parts(
            name, ready.job, crew, engine.workers, unit.spec.load_code, host=host, keeping=keeping
        )
        result = score_unit(ready, outcome, start)
    if keeping is not None:
        _remove(keeping.folder)
    return result


def compute_remote_unit(unit: RunUnit, digest: str | None) -> UnitResult:
    """Compute a unit in another process, where the data must be those of the digest."""
    check_elsewhere(unit, digest)
    return compute_unit(unit)


def check_elsewhere(unit: RunUnit, digest: str | None) -> None:
    """Load an experiment's names in the process that computes, and refuse other data than those of the digest."""
    unit.spec.load_code()
    if digest is not None:
        check_same(unit.spec, digest, unit.part)
