"""A collection as a sharded graph: its public graph by partitions, with the reports of closed rounds and nobody's row.

Users keep their node numbers as original numbers, which the roster of `export` has too; external ids are left behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphveil.collect.storage import Collection
from graphveil.errors import InputError
from graphveil.graphs.shards import Shards, write_shards
from graphveil.graphs.shards.partition import check_partitions
from graphveil.graphs.shards.stored_reports import write_reports


@dataclass(frozen=True)
class ExportedShards:
    """What was written: the sharded graph, the rounds whose reports are in it, and closed rounds that are left out, with the reason."""

    shards: Shards
    rounds: tuple[int, ...]
    left_out: dict[int, str]


def export_shards(
    collection: Collection, folder: Path, partitions: int, *, partitioner: str = "auto", seed: int = 0
) -> ExportedShards:
    """Write the graph and what was answered into a new folder. ``seed`` draws the split where the graph's file has none."""
    check_partitions(partitions, partitioner)
    graph = collection.graph(seed=seed)
    if not graph.edge_count:
        raise InputError(
            "this collection knows no link, so there is no graph to shard: export its tables, without --shards"
        )
    told = {"collection": collection.settings.id, "graph": max(collection.versions), "split_seed": seed}
    shards = write_shards(
        graph, folder, partitions=partitions, partitioner=partitioner, seed=seed, source=told
    )
    number = np.empty(shards.users, dtype=np.int32)
    number[shards.table(0, partitions).original] = np.arange(shards.users, dtype=np.int32)
    written: list[int] = []
    left_out: dict[int, str] = {}
    for each in collection.rounds():
        if not each.closed:
            continue
        if each.deleted:
            left_out[each.number] = "its reports were deleted when their time was over"
        elif each.plan.subject == "links":
            left_out[each.number] = "reports of links name users by node numbers, and shards number them anew"
        else:
            reports = collection.reports(each.number)
            write_reports(shards.path, shards.manifest, each.plan, reports, number)
            written.append(each.number)
    return ExportedShards(shards, tuple(written), left_out)
