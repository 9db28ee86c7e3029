"""The users of a worker's partitions: simulated from what the folder holds, or by reports that were collected before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.alias import code_type
from graphveil.channels.words import SeededWords
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.graphs.shards import Shards
from graphveil.graphs.simulated import SimulatedUsers
from graphveil.mechanisms import Mechanism, Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy import Ledger, Plan

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
    dims = np.empty(0, dtype=np.int32) if mechanism.names_dimensions else None
    codes = np.empty(0, dtype=code_type(mechanism.alphabet))
    return Reports(mechanism, row_pointers(np.empty(0, dtype=np.int64)), dims, codes)
