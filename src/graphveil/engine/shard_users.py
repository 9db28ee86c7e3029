"""A worker's part of a sharded graph, and the users of its partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import SeededWords, code_type
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart, split_links
from graphveil.graphs.shards import Shards
from graphveil.graphs.users import SimulatedUsers
from graphveil.graphs.world import World
from graphveil.mechanisms import Mechanism, Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy import Ledger, Plan


@dataclass(frozen=True)
class DiskEdges:
    """All links of a sharded graph, read from its files whenever they are gone through."""

    shards: Shards

    def __iter__(self) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        return self.shards.edge_blocks(0, self.shards.partition_count)


def partitions_of(shards: Shards, rank: int, workers: int) -> range:
    """The partitions of a worker: as many users each as whole partitions allow."""
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


def shard_part(shards: Shards, world: World, *, on_disk: bool = False) -> GraphPart:
    """What a worker holds of a sharded graph. ``on_disk`` leaves the links there: one process alone may do that."""
    manifest = shards.manifest
    own = partitions_of(shards, world.rank, world.size)
    table = shards.table(own.start, own.stop)
    firsts = [
        manifest.partitions[partitions_of(shards, each, world.size).start].first for each in range(world.size)
    ]
    bounds = np.array([*firsts, shards.users], dtype=np.int64)
    links: dict[str, Any] = {"blocks": DiskEdges(shards)}
    if not on_disk:
        begin, end = int(bounds[world.rank]), int(bounds[world.rank + 1])
        near, far, halo = split_links(table.indptr, shards.edges(own.start, own.stop), begin, end)
        links = {"near": near, "far": far, "halo": halo}
    return GraphPart(
        name=manifest.name,
        indptr=table.indptr,
        indices=np.empty(0, dtype=np.int32),
        feature_count=manifest.features,
        public_range=None if manifest.range is None else PublicRange.of(manifest.range),
        binary=manifest.binary,
        class_count=manifest.classes,
        labels=table.labels,
        train=table.train,
        validation=table.validation,
        test=table.test,
        metric=manifest.metric,
        feature_names=manifest.feature_names,
        ids=table.ids,
        world=world,
        total=shards.users,
        original=table.original,
        bounds=bounds,
        **links,
    )


# The stream of a run's seed that users of partitions draw from, each partition from one of its own.
PARTITIONS = 17


@dataclass(frozen=True)
class PartitionHolder:
    """What the users of one partition hold: read when they are asked, and not kept."""

    shards: Shards
    partition: int

    def asked(self, plan: Plan) -> Any:
        """What a plan asks for, of those that it asks, in its order."""
        return self.shards.simulated_users(self.partition).raw.asked(plan)


@dataclass
class ShardUsers:
    """Users of some partitions, who answer plans by their numbers in the part; partition after partition.

    Where the folder has what users hold, they are simulated: each partition draws from a stream of its own, so that reports do not
    depend on how many workers there are, and has books of its own. Else reports that were collected before are handed out.
    """

    shards: Shards
    part: GraphPart
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
                SeededWords(self.seed, PARTITIONS, partition),
                blind=self.blind,
                unsound=self.unsound,
            )
            for partition, ledger in zip(self.partitions, self.ledgers, strict=True)
        ]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where each partition begins and ends among the users of the part."""
        own = [self.shards.manifest.partitions[partition] for partition in self.partitions]
        return [(part.first - own[0].first, part.end - own[0].first) for part in own]

    def report(self, plan: Plan) -> Reports:
        """The reports of those of these users whom a plan asks."""
        if not self.shards.simulated:
            return self._stored(plan)
        told = []
        for (begin, end), users in zip(self.places, self._answering, strict=True):
            own = plan if plan.users == "all" else _between(plan, begin, end)
            if own is not None:
                told.append(users.report(own))
        return _joined(plan, told)

    def _stored(self, plan: Plan) -> Reports:
        whole = plan
        if plan.users != "all":
            own = self.part.original[np.array(plan.users, dtype=np.int64)]
            (asked,) = self.part.everywhere(np.array(plan.users, dtype=np.int64), own)
            whole = plan.model_copy(update={"users": tuple(asked.tolist())})
        kept = self.shards.reports(whole)
        if kept is None:
            raise InputError(
                f"{self.shards.path} holds no reports to this question, and not what users hold: collect the answers to it first, and "
                "export them; the method, its budget, settings and seed must be those that were asked with"
            )
        told = [
            kept.partition(partition, self.part.original[begin:end]).reports
            for partition, (begin, end) in zip(self.partitions, self.places, strict=True)
        ]
        return _joined(plan, told)

    def hits(self, scores: NDArray[np.floating]) -> tuple[int, int]:
        """How many test users of these partitions are given their class, and how many there are: nothing else leaves the users."""
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


def _joined(plan: Plan, told: Sequence[Reports]) -> Reports:
    """Reports of partitions one after the other, as reports to the plan of all of them; none where it asks nobody here."""
    if not told:
        return _nothing(plan.build())
    silent = any(reports.answered is not None for reports in told)
    answered = [
        np.ones(reports.asked, dtype=bool) if reports.answered is None else reports.answered
        for reports in told
    ]
    mechanism = plan.build()
    dims = [reports.dims for reports in told if reports.dims is not None]
    codes = [reports.codes for reports in told]
    lengths = [reports.lengths for reports in told]
    return Reports(
        mechanism,
        row_pointers(np.concatenate(lengths)),
        np.concatenate(dims) if dims else None,
        np.concatenate(codes),
        np.concatenate(answered) if silent else None,
    )


def _nothing(mechanism: Mechanism) -> Reports:
    """The reports of nobody."""
    dims = np.empty(0, dtype=np.int32) if mechanism.shape.names_dimensions else None
    codes = np.empty(0, dtype=code_type(mechanism.shape.alphabet))
    return Reports(mechanism, row_pointers(np.empty(0, dtype=np.int64)), dims, codes)
