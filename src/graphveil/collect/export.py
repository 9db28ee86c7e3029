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

from graphveil.collect.schema import REPORTS, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.errors import InputError
from graphveil.files import write_whole, writing_whole
from graphveil.lazy import scale

# Rows that are in memory at one time.
CHUNK = 50_000


def export(collection: Collection, folder: Path) -> dict[str, int]:
    """Write the tables into a folder; the names of the files, and how many rows each has.

    External ids are left behind, and those who were forgotten have no pseudonym.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}): name another folder") from None
    roster = collection.roster()
    named = zip(roster.node, roster.pseudonym, roster.forgotten, strict=True)
    pseudonyms = {int(node): None if forgotten else name.hex() for node, name, forgotten in named}
    public = collection.public_graph()
    links = np.unique(np.sort(public.edges[public.edges[:, 0] != public.edges[:, 1]], axis=1), axis=0)
    written = {
        "links.parquet": _write(folder / "links.parquet", [{"source": links[:, 0], "target": links[:, 1]}]),
        "roster.parquet": _write(
            folder / "roster.parquet",
            [
                {
                    "node": roster.node,
                    "pseudonym": pyarrow.array(pseudonyms.values(), pyarrow.string()),
                    "label": public.labels[roster.node],
                    "enrolled": roster.enrolled,
                    "epsilon": roster.epsilon,
                    "delta": roster.delta,
                    "excluded": [json.dumps(list(each)) for each in roster.excluded],
                    "volunteer": roster.volunteer,
                }
            ],
        ),
        "reports.parquet": _write(folder / "reports.parquet", _reports(collection, pseudonyms)),
    }
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


def _reports(collection: Collection, pseudonyms: dict[int, str | None]) -> Iterator[dict[str, Any]]:
    """Messages of closed rounds, some at a time; an empty table where there are none."""
    columns = (REPORTS.c.round, REPORTS.c.node, REPORTS.c.message)
    chosen = (
        select(*columns)
        .join(ROUNDS, ROUNDS.c.number == REPORTS.c.round)
        .where(ROUNDS.c.closed.is_(True))
        .order_by(REPORTS.c.round, REPORTS.c.node)
    )
    none = True
    with collection.database.reading() as connection:
        for rows in connection.execution_options(yield_per=CHUNK).execute(chosen).partitions():
            none = False
            yield _report_columns([tuple(row) for row in rows], pseudonyms)
    if none:
        yield _report_columns([], pseudonyms)


def _report_columns(rows: list[tuple[Any, ...]], pseudonyms: dict[int, str | None]) -> dict[str, Any]:
    return {
        "round": np.array([row[0] for row in rows], dtype=np.int64),
        "node": np.array([row[1] for row in rows], dtype=np.int64),
        "pseudonym": pyarrow.array([pseudonyms[row[1]] for row in rows], pyarrow.string()),
        "message": pyarrow.array([bytes(row[2]) for row in rows], pyarrow.binary()),
    }


def _write(file: Path, parts: Iterable[dict[str, Any]]) -> int:
    """Write a table; half of one is never there."""
    tables = map(pyarrow.table, parts)
    first = next(tables)
    count = int(first.num_rows)
    with writing_whole(file) as whole, parquet.ParquetWriter(whole, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
            count += int(table.num_rows)
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
