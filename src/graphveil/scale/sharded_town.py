"""A town of any size, written partition by partition: nobody ever holds all of its links.

The statistics are those of `Town.generate`, the numbers are not. A partition is a range of whole neighbourhoods. What is drawn
for it comes from random streams of its own, keyed by the seed and its number, so that it can be made alone:

    nearby links      drawn within the partition
    links anywhere    each partition's users pick strangers from the whole town; making partition p draws the picks of
                      all partitions again and keeps those that begin or end in p, so that both directions are where they belong
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.graph import MAX_NODES, UNKNOWN
from graphveil.graphs.splits import check_seed
from graphveil.graphs.town import Town, draw_interests, interest_rates, pick_anywhere, pick_nearby
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Targets, taking
from graphveil.scale.manifest import Manifest, Partition, new_folder, simulated_file
from graphveil.scale.partitioners import MAX_PARTITIONS
from graphveil.scale.shard_reader import PublicUsers, Shards, open_shards
from graphveil.scale.shard_writer import write_partition
from graphveil.scale.simulated_users import write_held

# The streams of a seed; `Town.generate` has the key 7.
KEY = 9
KINDS, RATES, NEARBY, ANYWHERE, INTERESTS, SPLIT = range(6)


def write_town(
    plan: Town,
    out: str | Path,
    *,
    partitions: int,
    seed: int = 0,
    simulated: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Shards:
    """Write a town into a new folder, and open it.

    Parameters
    ----------
    plan
        The town, which is drawn by the seed of its plan.
    out
        The new folder.
    partitions
        The number of partitions.
    seed
        The seed of the split.
    simulated
        Whether to write what its users hold.
    progress
        Called with the number of partitions written, and the number of all.
    """
    check_whole(partitions, "--partitions", least=1, most=MAX_PARTITIONS)
    if type(plan) is not Town:
        raise InputError("a sharded town has one class a user: plan it with Town(…)")
    check_whole(plan.users, "users", most=MAX_NODES)
    town, parts = ShardedTown(plan, partitions, check_seed(seed)), []
    with new_folder(Path(out)) as folder:
        for partition in range(partitions):
            parts.append(_write(town, folder, partition, simulated))
            if progress is not None:
                progress(partition + 1, partitions)
        Manifest(
            name="town",
            users=plan.users,
            entries=sum(part.entries for part in parts),
            features=plan.features,
            range=(0.0, 1.0),
            binary=True,
            classes=plan.kinds,
            metric="accuracy",
            partitioner="neighbourhoods",
            partitions=tuple(parts),
            source={"town": asdict(plan), "split_seed": seed},
        ).write(folder)
    return open_shards(folder)


@dataclass(frozen=True)
class ShardedTown:
    """A town in so many partitions, any of which can be drawn alone."""

    plan: Town
    partitions: int
    split_seed: int = 0

    @property
    def neighbourhoods(self) -> int:
        """The number of neighbourhoods; the last one takes users who are left over."""
        return self.plan.users // self.plan.neighbourhood

    def users(self, partition: int) -> tuple[int, int]:
        """The first user of a partition, and the one behind its last."""
        begin, end = (self.neighbourhoods * place // self.partitions for place in (partition, partition + 1))
        last = self.plan.users if end == self.neighbourhoods else end * self.plan.neighbourhood
        return begin * self.plan.neighbourhood, last

    def labels(self, partition: int) -> NDArray[np.int64]:
        """The kinds of the neighbourhoods of a partition's users."""
        kinds = self._random(KINDS).permutation(np.arange(self.neighbourhoods) % self.plan.kinds)
        return kinds[self._homes(partition)]

    def links(self, partition: int) -> tuple[NDArray[np.int64], Targets]:
        """Row pointers and neighbours of a partition's users, sorted, without self-loops or repeats."""
        first, end = self.users(partition)
        near = pick_nearby(
            self.plan,
            np.arange(first, end, dtype=np.int32),
            self._homes(partition),
            self.neighbourhoods,
            self._random(NEARBY, partition),
        )
        found = [_entries(*near, first, end), _entries(*near[::-1], first, end)]
        for other in range(self.partitions):
            pickers = np.arange(*self.users(other), dtype=np.int32)
            far = pick_anywhere(self.plan, pickers, self._random(ANYWHERE, other))
            if other == partition:
                found.append(_entries(*far, first, end))
            found.append(_entries(*far[::-1], first, end))
        codes = np.concatenate(found)
        found.clear()
        codes.sort()
        codes = codes[np.diff(codes, prepend=-1) != 0]
        pointers = row_pointers(np.bincount(codes >> 32, minlength=end - first))
        return pointers, (codes & 0xFFFFFFFF).astype(np.int32)

    def public(self, partition: int, labels: NDArray[np.int64]) -> PublicUsers:
        """The split of a partition's users; over all partitions the shares are those of the plan."""
        first, end = self.users(partition)
        order = self._random(SPLIT, partition, self.split_seed).permutation(end - first)
        plan = self.plan
        trained = round(plan.labelled * end) - round(plan.labelled * first)
        validated = round(plan.validated * end) - round(plan.validated * first)
        masks = np.zeros((3, end - first), dtype=bool)
        for mask, chosen in zip(masks, np.split(order, [trained, trained + validated]), strict=True):
            mask[chosen] = True
        return PublicUsers(np.where(masks[2], UNKNOWN, labels), *masks)

    def interests(self, partition: int, labels: NDArray[np.int64]) -> Callable[[int, int], NDArray[np.uint8]]:
        """Return a function that draws interests of a partition's users; rows must be asked for in order."""
        rates, random = interest_rates(self.plan, self._random(RATES)), self._random(INTERESTS, partition)
        return lambda begin, end: draw_interests(rates, labels[begin:end], random)

    def _homes(self, partition: int) -> NDArray[np.int32]:
        everyone = np.arange(*self.users(partition), dtype=np.int32)
        return np.minimum(everyone // self.plan.neighbourhood, self.neighbourhoods - 1)

    def _random(self, *stream: int) -> np.random.Generator:
        key = np.random.SeedSequence([self.plan.seed, KEY], spawn_key=stream)
        return np.random.Generator(np.random.Philox(key))


def _entries(sources: Targets, targets: Targets, first: int, end: int) -> NDArray[np.int64]:
    """Links of the users from ``first`` to before ``end``, one number each: the user's place, then the neighbour."""
    own = (sources >= first) & (sources < end) & (sources != targets)
    codes: NDArray[np.int64] = ((sources[own] - first).astype(np.int64) << 32) | targets[own]
    return codes


def _write(town: ShardedTown, folder: Path, partition: int, simulated: bool) -> Partition:
    first, end = town.users(partition)
    labels = town.labels(partition)
    pointers, targets = town.links(partition)
    original, take = np.arange(first, end, dtype=np.int64), taking(iter([targets]))
    public = town.public(partition, labels)
    written = write_partition(folder, partition, first, original, np.diff(pointers), take, public)
    if simulated:
        write_held(simulated_file(folder, partition), labels, town.interests(partition, labels))
    return written
