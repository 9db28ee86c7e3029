"""Links of a graph that is not held as a whole: sorted and joined by DuckDB, in bounded memory, within a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import MAX_NODES
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Adjacency, Targets
from graphveil.scale.partitioners import Layout

# DuckDB does not sort in less.
LEAST_MEGABYTES = 64
# Rows that are fetched at a time.
ROWS = 1 << 20
# More users than this, and so many for each end of a link, are no users: their numbers are names.
MANY, LONELY = 1_000_000, 100


class LinkDatabase(ExitStack):
    """Pairs of users in any order, by numbers or by ids, and what is created of them, in a new folder that is removed at the end."""

    def __init__(self, folder: Path, gigabytes: float) -> None:
        super().__init__()
        self.folder = folder
        folder.mkdir()
        self.callback(shutil.rmtree, folder, ignore_errors=True)
        self.gigabytes = gigabytes
        self.push(self._explain)
        config: dict[str, Any] = {
            "memory_limit": f"{max(int(gigabytes * 1000), LEAST_MEGABYTES)}MB",
            "temp_directory": str(folder / "spilled"),
            "threads": 1,
            "preserve_insertion_order": False,
        }
        self._database = self.enter_context(duckdb.connect(str(folder / "links.duckdb"), config=config))

    def _explain(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, duckdb.OutOfMemoryException):
            raise InputError(
                f"the links cannot be sorted in {self.gigabytes:g} GB: give a larger --max-memory"
            ) from None

    def add(self, table: str, batches: Iterable[tuple[Any, Any]]) -> None:
        """Add rows of two columns, ``a`` and ``b``, to a new table, whose types are those of the first rows."""
        created = False
        for first, second in batches:
            self._database.register("batch", pyarrow.table({"a": first, "b": second}))
            how = f"INSERT INTO {table}" if created else f"CREATE OR REPLACE TABLE {table} AS"
            self._database.execute(f"{how} SELECT * FROM batch")
            self._database.unregister("batch")
            created = True
        if not created:
            self._database.execute(f"CREATE OR REPLACE TABLE {table} (a INTEGER, b INTEGER)")

    def name_users(self, tables: Iterable[str]) -> Any:
        """Number the users of ``pairs`` and of the first column of other tables by the order of their ids; the ids (a column of Arrow)."""
        columns = [
            "SELECT a AS id FROM pairs",
            "SELECT b FROM pairs",
            *(f"SELECT a FROM {each}" for each in tables),
        ]
        self._database.execute(
            "CREATE TABLE ids AS SELECT id, (row_number() OVER (ORDER BY id) - 1)::INTEGER AS number "
            f"FROM ({' UNION '.join(columns)})"
        )
        for table in ("pairs", *tables):
            second = ", b.number AS b" if table == "pairs" else ", b"
            joined = "JOIN ids AS b ON pairs.b = b.id" if table == "pairs" else ""
            self._database.execute(
                f"CREATE OR REPLACE TABLE {table} AS SELECT a.number AS a{second} FROM {table} JOIN ids AS a ON {table}.a = a.id {joined}"
            )
        return (
            self._database.sql("SELECT id FROM ids ORDER BY number").to_arrow_table()["id"].combine_chunks()
        )

    def rows(self, table: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Two columns of integers."""
        found = self._database.sql(f"SELECT a::BIGINT AS a, b::BIGINT AS b FROM {table}").fetchnumpy()
        return np.asarray(found["a"]), np.asarray(found["b"])

    def count_users(self, users: int | None, least: int, named: str, instead: str) -> int:
        """Return the number of users, as given or by the largest number in ``pairs``.

        Numbers that are so large that they must be names are refused: every number below them would be a user
        and take memory.

        Parameters
        ----------
        users
            The number of users, if it is known; all of ``pairs`` must be below it.
        least
            The smallest number to return where ``users`` is None.
        named, instead
            What the numbers come from, and what to do instead, for errors.
        """
        low, high, links = self._row("SELECT min(least(a, b)), max(greatest(a, b)), count(*) FROM pairs")
        if not links:
            return least if users is None else users
        if low < 0 or high >= (MAX_NODES if users is None else users):
            allowed = f"0..{users - 1}" if users is not None else f"from 0 to {MAX_NODES - 1}"
            raise InputError(f"{named} must name users by numbers {allowed}, got {low}..{high}: {instead}")
        if users is not None:
            return users
        count = max(int(high) + 1, least)
        if count > max(MANY, LONELY * 2 * links, least):
            raise InputError(
                f"{named} has {links} links, and a user of the number {count - 1}, so that nearly all of {count} users would have none: "
                f"{instead}"
            )
        return count

    def sort(self, users: int) -> Adjacency:
        """Both directions of all pairs, sorted, without self-loops or repeats, in a file of the folder."""
        self._database.execute(
            "CREATE TABLE links AS SELECT DISTINCT source, target FROM ("
            "SELECT a::INTEGER AS source, b::INTEGER AS target FROM pairs UNION ALL SELECT b::INTEGER, a::INTEGER FROM pairs"
            ") WHERE source <> target"
        )
        self._database.execute("DROP TABLE pairs")
        degrees = np.zeros(users, dtype=np.int64)
        file = self.folder / "links"
        with open(file, "wb") as opened:
            for source, target in self._batches("SELECT source, target FROM links ORDER BY ALL"):
                first, last = int(source[0]), int(source[-1])
                degrees[first : last + 1] += np.bincount(source - first, minlength=last + 1 - first)
                target.tofile(opened)
        return Adjacency(row_pointers(degrees), file)

    def in_shard_order(self, layout: Layout) -> Iterator[Targets]:
        """The neighbours of all users as shard numbers, by the shard number of the user and then of the neighbour."""
        users = np.arange(len(layout.number), dtype=np.int32)
        self._database.register("numbers", pyarrow.table({"user": users, "number": layout.number}))
        query = (
            "SELECT own.number AS source, other.number AS target FROM links JOIN numbers AS own ON own.user = source "
            "JOIN numbers AS other ON other.user = target ORDER BY ALL"
        )
        return (target for _, target in self._batches(query))

    def _batches(self, query: str) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        for batch in self._database.sql(query).to_arrow_reader(ROWS):
            if batch.num_rows:
                source, target = (column.to_numpy() for column in batch.columns)
                yield source, target

    def _row(self, query: str) -> tuple[Any, ...]:
        found = self._database.execute(query).fetchone()
        assert found is not None
        return found
