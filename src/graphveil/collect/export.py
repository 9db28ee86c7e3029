"""A collection as Parquet tables, and as a sharded graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet
from sqlalchemy import select

from graphveil.collect.folder import check_folder
from graphveil.collect.schema import REPORTS, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.errors import InputError
from graphveil.files import write_whole, writing_whole
from graphveil.lazy import scale

# Rows that are in memory at one time.
CHUNK = 50_000
REPORT_SCHEMA = pyarrow.schema(
    {
        "round": pyarrow.int64(),
        "node": pyarrow.int64(),
        "pseudonym": pyarrow.string(),
        "message": pyarrow.binary(),
    }
)


def export(collection: Collection, folder: Path) -> dict[str, int]:
    """Write the tables into a folder; the names of the files, and how many rows each has.

    External ids are left behind, and those who were forgotten have no pseudonym.
    """
    check_folder(folder)
    roster = collection.roster()
    named = zip(roster.node, roster.pseudonym, roster.forgotten, strict=True)
    pseudonyms = {int(node): None if forgotten else name.hex() for node, name, forgotten in named}
    public = collection.public_graph()
    links = np.unique(np.sort(public.edges[public.edges[:, 0] != public.edges[:, 1]], axis=1), axis=0)
    people = {
        "node": roster.node,
        "pseudonym": pyarrow.array(pseudonyms.values(), pyarrow.string()),
        "label": public.labels[roster.node],
        "enrolled": roster.enrolled,
        "epsilon": roster.epsilon,
        "delta": roster.delta,
        "excluded": [json.dumps(list(each)) for each in roster.excluded],
        "volunteer": roster.volunteer,
    }
    tables: dict[str, Iterable[pyarrow.Table]] = {
        "links": [pyarrow.table({"source": links[:, 0], "target": links[:, 1]})],
        "roster": [pyarrow.table(people)],
        "reports": _reports(collection, pseudonyms),
    }
    written = {f"{name}.parquet": _write(folder / f"{name}.parquet", parts) for name, parts in tables.items()}
    rounds = [
        {
            "round": each.number,
            "digest": each.digest,
            "closed": each.closed,
            "asked": len(each.asked),
            "answered": each.answered,
            "plan": json.loads(each.plan.to_json()),
        }
        for each in collection.rounds()
    ]
    write_whole(folder / "rounds.json", (json.dumps({"rounds": rounds}, indent=1) + "\n").encode())
    return {**written, "rounds.json": len(rounds)}


def _reports(collection: Collection, pseudonyms: dict[int, str | None]) -> Iterator[pyarrow.Table]:
    """Messages of closed rounds, some at a time; first none, which says the types of the columns."""
    yield REPORT_SCHEMA.empty_table()
    chosen = (
        select(REPORTS.c.round, REPORTS.c.node, REPORTS.c.message)
        .join(ROUNDS, ROUNDS.c.number == REPORTS.c.round)
        .where(ROUNDS.c.closed.is_(True))
        .order_by(REPORTS.c.round, REPORTS.c.node)
    )
    with collection.database.reading() as connection:
        for rows in connection.execution_options(yield_per=CHUNK).execute(chosen).partitions():
            round, node, message = zip(*rows, strict=True)
            yield pyarrow.table([round, node, [pseudonyms[each] for each in node], message], REPORT_SCHEMA)


def _write(file: Path, parts: Iterable[pyarrow.Table]) -> int:
    """Write a table in parts, and return its number of rows; half of one is never there."""
    tables = iter(parts)
    table, count = next(tables), 0
    with writing_whole(file) as whole, parquet.ParquetWriter(whole, table.schema) as writer:
        while table is not None:
            writer.write_table(table)
            count += int(table.num_rows)
            table = next(tables, None)
    return count


@dataclass(frozen=True)
class ExportedShards:
    """The exported graph, the rounds whose reports are in it, and closed rounds left out, with the reason."""

    shards: Any
    rounds: tuple[int, ...]
    left_out: dict[int, str]


def export_shards(
    collection: Collection, folder: Path, partitions: int, *, partitioner: str = "auto", seed: int = 0
) -> ExportedShards:
    """Write the graph and the answers into a new folder, as a sharded graph.

    Parameters
    ----------
    collection
        The collection to export.
    folder
        The new folder.
    partitions
        The number of partitions.
    partitioner
        The way to divide users: auto, metis, stream or ranges.
    seed
        The seed of the partitions, and of the split where the graph's file has none.
    """
    scale().check_partitions(partitions, partitioner)
    graph = collection.graph(seed=seed)
    if not graph.edge_count:
        raise InputError("this collection knows no link: export its tables, without --shards")
    told = {"collection": collection.settings.id, "graph": max(collection.versions), "split_seed": seed}
    shards = scale().write_shards(
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
            scale().write_reports(shards.path, shards.manifest, each.plan, reports, number)
            written.append(each.number)
    return ExportedShards(shards, tuple(written), left_out)
