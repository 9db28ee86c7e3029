"""A worker's part of a sharded graph: some partitions that follow each other, with their links in memory or left on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart, split_links
from graphveil.graphs.shards import Shards
from graphveil.graphs.world import World
from graphveil.mechanisms.rows import PublicRange


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
