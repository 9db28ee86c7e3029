"""A worker's part of a sharded graph, and the users of its partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import SeededBits, code_type
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, UnitResult, check_cost, make_job
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.part import Group
from graphveil.graphs.tables import Column, Lists, load_library, write_table
from graphveil.graphs.users import SimulatedUsers
from graphveil.mechanisms import Reports, entry
from graphveil.methods import METHODS
from graphveil.methods.job import Progress
from graphveil.methods.method import check_backbone
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.record import Privacy, privacy_record
from graphveil.scale.partition_learning import Checkpointing, PartOutcome, learn_on, loaded, worker_numbers
from graphveil.scale.partitioned_graph import GraphPartition, split_links
from graphveil.scale.shard_reader import Shards, open_shards
from graphveil.scale.workers import Caller, Workers


@dataclass(frozen=True)
class DiskEdges:
    """All links of a sharded graph, read from its files whenever they are gone through."""

    shards: Shards

    def __iter__(self) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        return self.shards.edge_blocks(0, self.shards.partition_count)


def partitions_of(shards: Shards, rank: int, workers: int) -> range:
    """Return the partitions of a worker: all have about as many users as whole partitions allow.

    Parameters
    ----------
    shards
        The sharded graph.
    rank
        The worker.
    workers
        The number of workers.
    """
    if workers > shards.partition_count:
        raise InputError(
            f"{shards.path} has {shards.partition_count} partitions, and each of {workers} workers needs one: take fewer workers, or "
            "shard the graph into more partitions"
        )
    ends = np.cumsum([part.users for part in shards.manifest.partitions])
    # The partition after which a worker's share of the users is reached, but one for each worker at least.
    cuts = [0]
    for worker in range(1, workers):
        wanted = int(np.searchsorted(ends, ends[-1] * worker / workers, side="left")) + 1
        least, most = cuts[-1] + 1, shards.partition_count - (workers - worker)
        cuts.append(min(max(wanted, least), most))
    cuts.append(shards.partition_count)
    return range(cuts[rank], cuts[rank + 1])


def shard_part(shards: Shards, collective: Collective, *, on_disk: bool = False) -> GraphPartition:
    """Return a worker's part of a sharded graph.

    Parameters
    ----------
    shards
        The sharded graph.
    collective
        The workers that learn together.
    on_disk
        Whether the links stay on disk, which only a single process may do.
    """
    own = partitions_of(shards, collective.rank, collective.size)
    table = shards.table(own.start, own.stop)
    firsts = [
        shards.manifest.partitions[partitions_of(shards, each, collective.size).start].first
        for each in range(collective.size)
    ]
    bounds = np.array([*firsts, shards.users], dtype=np.int64)
    links: dict[str, Any] = {"blocks": DiskEdges(shards)}
    if not on_disk:
        begin, end = int(bounds[collective.rank]), int(bounds[collective.rank + 1])
        near, far, halo = split_links(table.indptr, shards.edges(own.start, own.stop), begin, end)
        links = {"near": near, "far": far, "halo": halo}
    return GraphPartition(
        **shards.manifest.graph_fields,
        **vars(table.of(slice(None))),
        indptr=table.indptr,
        indices=np.empty(0, dtype=np.int32),
        collective=collective,
        total=shards.users,
        original=table.original,
        bounds=bounds,
        **links,
    )


# The stream of a run's seed that users of partitions draw from, each partition from one of its own.
PARTITIONS = 17


@dataclass(frozen=True)
class PartitionHolder:
    """The data of one partition's users: read when they are asked, and not kept."""

    shards: Shards
    partition: int

    def asked(self, plan: Plan) -> Any:
        """Return what a plan asks for, of the users that it asks, in its order."""
        return self.shards.simulated_users(self.partition).raw.asked(plan)


@dataclass
class ShardUsers:
    """Users of some partitions, who answer plans by their numbers in the part; partition after partition.

    Where the folder has what users hold, they are simulated: each partition draws from a stream of its own, so that reports do not
    depend on how many workers there are, and has books of its own. Else reports that were collected before are handed out.
    """

    shards: Shards
    part: GraphPartition
    partitions: range
    seed: int
    blind: bool = False
    unsound: bool = False
    ledgers: list[Ledger] = field(default_factory=list)

    def open(self, epsilon: NDArray[np.float64], delta: float) -> None:
        """Open books with these budgets, one a user of the part."""
        self.ledgers = [Ledger(end - begin, epsilon[begin:end], delta) for begin, end in self.places]
        self._answering = [
            SimulatedUsers(
                PartitionHolder(self.shards, partition),
                ledger,
                SeededBits(self.seed, PARTITIONS, partition),
                blind=self.blind,
                unsound=self.unsound,
            )
            for partition, ledger in zip(self.partitions, self.ledgers, strict=True)
        ]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The first and the last place (exclusive) of each partition among the users of the part."""
        own = [self.shards.manifest.partitions[partition] for partition in self.partitions]
        return [(part.first - own[0].first, part.end - own[0].first) for part in own]

    def report(self, plan: Plan) -> Reports:
        """The reports of those of these users whom a plan asks."""
        if not self.shards.simulated:
            return self._stored(plan)
        parts = []
        for (begin, end), users in zip(self.places, self._answering, strict=True):
            own = plan if plan.users == "all" else _between(plan, begin, end)
            if own is not None:
                parts.append(users.report(own))
        return _joined(plan, parts)

    def _stored(self, plan: Plan) -> Reports:
        whole = plan
        if plan.users != "all":
            group = Group.of(self.part, np.array(plan.users, dtype=np.int64))
            whole = plan.model_copy(update={"users": tuple(group.rows(self.part.original).tolist())})
        kept = self.shards.reports(whole)
        if kept is None:
            raise InputError(
                f"{self.shards.path} holds no reports to this question, and not what users hold: collect the answers to it first, and "
                "export them; the method, its budget, settings and seed must be those that were asked with"
            )
        parts = [
            kept.partition(partition, self.part.original[begin:end]).reports
            for partition, (begin, end) in zip(self.partitions, self.places, strict=True)
        ]
        return _joined(plan, parts)

    def hits(self, scores: NDArray[np.floating]) -> tuple[int, int]:
        """Return the number of test users with the right class, and of all test users, in these partitions.

        Nothing else leaves the users.
        """
        right = total = 0
        for partition, (begin, end) in zip(self.partitions, self.places, strict=True):
            test = self.part.test[begin:end]
            labels = self.shards.simulated_labels(partition)
            right += int((scores[begin:end].argmax(axis=1) == labels)[test].sum())
            total += int(test.sum())
        return right, total


def _between(plan: Plan, begin: int, end: int) -> Plan | None:
    """The same question to those of its users who have these numbers, as their partition numbers them; None where it asks none."""
    users = np.array(plan.users, dtype=np.int64)
    places = np.flatnonzero((users >= begin) & (users < end))
    if not places.size:
        return None
    own = {
        name: table.rows(places.tolist())
        for name in ("lists", "offsets")
        if (table := getattr(plan, name)) is not None
    }
    return plan.model_copy(update={"users": tuple((users[places] - begin).tolist()), **own})


def _joined(plan: Plan, parts: list[Reports]) -> Reports:
    """Reports of partitions one after the other, as reports to the plan of all of them; none where it asks nobody here."""
    mechanism = plan.build()
    if not parts:
        dims = np.empty(0, dtype=np.int32) if mechanism.shape.names_dimensions else None
        codes = np.empty(0, dtype=code_type(mechanism.shape.alphabet))
        return Reports(mechanism, np.zeros(1, dtype=np.int64), dims, codes)
    whole = Reports.join([replace(part, answered=None) for part in parts], mechanism)
    if all(part.answered is None for part in parts):
        return whole
    asked = [np.isin(np.arange(part.asked), part.places) for part in parts]
    return replace(whole, answered=np.concatenate(asked))


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

    def write(self, part: GraphPartition, users: ShardUsers, outcome: Outcome) -> None:
        """Write the rows of a worker's partitions: ``original``, ``id`` where users have one, and results.

        Parameters
        ----------
        part
            The worker's part of the graph.
        users
            Its users, with their partitions.
        outcome
            What was learned of them.
        """
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
    """The task of every worker: the same for all of them, as each reads its own partitions.

    ``on_disk`` leaves the links there, in a process alone. Into ``out`` go predictions or embeddings, a file a partition.
    """

    unit: RunUnit
    checkpoints: Checkpointing | None = None
    on_disk: bool = False
    out: RowFiles | None = None

    @property
    def method(self) -> str:
        """The name of the method that learns."""
        return self.unit.role.method_of(self.unit.spec).name

    @property
    def most_gigabytes(self) -> float | None:
        """The most memory that a worker may take, in gigabytes; None without a limit."""
        return self.unit.spec.machine.max_memory

    def shards(self) -> Shards:
        """Open the sharded graph."""
        return open_shards(Path(self.unit.spec.data).expanduser())


@dataclass(frozen=True)
class ShardOutcome:
    """The result of a worker: no row of a user, but counts, what was spent, and what it took."""

    taken: PartOutcome
    hits: int
    tested: int
    privacy: Privacy
    asked: int


def run_shard_unit(
    task: ShardTask, count: int, workers: Workers | None = None, progress: Progress | None = None
) -> UnitResult:
    """Learn from a sharded graph and score it, by workers or in this process.

    Parameters
    ----------
    task
        The task of every worker.
    count
        The number of workers.
    workers
        The workers; None learns in this process.
    progress
        Called with what is being done and how far it is.
    """
    start = time.perf_counter()
    shards = task.shards()
    check_shards(task.unit.spec, shards)
    partitions_of(shards, 0, count)
    if workers is None:
        outcomes = [learn_shards(task, SINGLE_PROCESS, Caller(progress))]
    else:
        outcomes = workers.run(learn_shards, [task] * count, progress)
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
        {**first.also, **({"on_disk": 1.0} if workers is None else worker_numbers(taken))},
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


def learn_shards(task: ShardTask, collective: Collective, caller: Caller) -> ShardOutcome:
    """Learn as one worker of a collective, from the partitions that fall to it.

    Parameters
    ----------
    task
        The task of every worker.
    collective
        The workers that learn together.
    caller
        The process that started it.
    """
    unit, spec = task.unit, task.unit.spec
    idle = loaded(partial(_load, spec), task.most_gigabytes)
    check_backbone(spec.backbone)
    shards, method = task.shards(), METHODS.find(task.method)
    part = shard_part(shards, collective, on_disk=task.on_disk)
    public = part.without_labels() if spec.budgets.private_labels else part
    assert isinstance(public, GraphPartition)
    job = make_job(unit, method, public)
    questions = method.questions(job)
    check_cost(unit, questions)
    users = ShardUsers(
        shards,
        part,
        partitions_of(shards, collective.rank, collective.size),
        unit.seed,
        blind=unit.role.blind,
        unsound=not entry(spec.budgets.mechanism).sound,
    )
    users.open(questions.needed(part.node_count), questions.cost.delta)
    taken = replace(learn_on(public, replace(job, users=users), task, caller.progress), idle_mb=idle)
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
