"""Tables of links, read some rows at a time: CSV with a line of names, or Parquet with the columns source and target.

Integers are the numbers of users. Text is taken for ids, and so are integers where the caller says so: users are then numbered by
the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError

LINKS, LABELS = ("source", "target"), ("user", "label")
# What to write in place of something else, where users stand and where labels do.
NUMBERS, CLASSES = "write numbers, or take --ids", "write the classes as 0, 1, …, and -1 where none is known"
LARGEST = np.iinfo(np.int64).max
# Bytes of a file that are read together, and rows of a Parquet file.
BLOCK, ROWS = 1 << 22, 1 << 20


@dataclass(frozen=True)
class PairTable:
    """A file whose columns ``names`` (of a CSV file: the first two) are read in pairs; ``texts`` reads the first as text."""

    file: Path
    names: tuple[str, str]
    # Which columns are read as text whatever they look like.
    texts: tuple[bool, bool] = (False, False)

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """Two columns of Arrow, some rows at a time."""
        read = {".csv": self._csv, ".parquet": self._parquet}.get(self.file.suffix.lower())
        if read is None:
            raise InputError(
                f"{self.file} has an unknown form: tables are read from .csv or .parquet, a graph from .npz"
            )
        batches = read()
        while True:
            with _reading(self.file, self.names):
                batch = next(batches, None)
            if batch is None:
                return
            for column, name in zip(batch, self.names, strict=True):
                if column.null_count:
                    raise InputError(
                        f"{self.file}: column {name!r} has empty cells: fill them, or leave those rows out"
                    )
            yield batch

    def _csv(self) -> Iterator[tuple[Any, Any]]:
        from pyarrow import csv, string

        with open(self.file, encoding="utf-8") as opened:
            names = [name.strip().strip('"') for name in opened.readline().strip().split(",")]
        if len(names) < 2:
            raise InputError(
                f"{self.file} must begin with a line that names its columns, two at least, with a comma between them"
            )
        if all(name.lstrip("-").isdigit() for name in names[:2]):
            raise InputError(
                f"{self.file} begins with the numbers {','.join(names[:2])}, and not with a line that names its columns: put one above "
                "them, for example source,target"
            )
        # Two columns may have the same name: they are told apart by their places.
        names = [str(place) for place in range(len(names))]
        types = {name: string() for name, text in zip(names, self.texts, strict=False) if text}
        reader = csv.open_csv(
            self.file,
            read_options=csv.ReadOptions(
                block_size=BLOCK, use_threads=False, column_names=names, skip_rows=1
            ),
            convert_options=csv.ConvertOptions(include_columns=names[:2], column_types=types),
        )
        for batch in reader:
            yield batch.column(0), batch.column(1)

    def _parquet(self) -> Iterator[tuple[Any, Any]]:
        from pyarrow import parquet, string

        # Left to itself it would keep all that was read until the end.
        file = parquet.ParquetFile(self.file, pre_buffer=False, buffer_size=BLOCK)
        for name in self.names:
            if name not in file.schema_arrow.names:
                raise InputError(
                    f"{self.file} has no column {name!r}: it needs {' and '.join(self.names)}, and has "
                    f"{', '.join(file.schema_arrow.names)}"
                )
        for batch in file.iter_batches(ROWS, columns=list(self.names), use_threads=False):
            columns = (batch.column(name) for name in self.names)
            first, second = (
                column.cast(string()) if text else column
                for column, text in zip(columns, self.texts, strict=True)
            )
            yield first, second


@dataclass(frozen=True, eq=False)
class EdgeList:
    """A table of links between users who are numbered, or who have ``ids``, in ascending order."""

    table: PairTable
    ids: NDArray[Any] | None = None

    def pairs(self) -> Iterator[NDArray[np.int64]]:
        """All links as pairs of numbers, some at a time."""
        # Ids are looked up for so many rows together that looking at all ids costs little more.
        for batch in _together(
            self.table.batches(), 0 if self.ids is None else max(ROWS, len(self.ids) // 4)
        ):
            yield np.stack([self.numbers(column) for column in batch], axis=1)

    def numbers(self, column: Any) -> NDArray[np.int64]:
        """The numbers of users in a column."""
        if self.ids is None:
            return integers(column, self.table.file)
        import pyarrow
        from pyarrow import compute

        found = compute.index_in(column.cast(_id_type(self.ids)), pyarrow.array(self.ids))
        if found.null_count:
            raise InputError(
                f"{self.table.file} was changed while it was read, or names somebody who has no links and no label: read it again"
            )
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def edge_list(file: Path, ids: bool = False, labels: Path | None = None) -> EdgeList:
    """A table of links; where its users have ids, all of them are read first, those of ``labels`` too."""
    table = PairTable(file, LINKS)
    first = next(table.batches(), None)
    if first is not None and all(_is_integer(column) for column in first) and not ids:
        return EdgeList(table)
    if first is not None and not ids:
        _check_named(first, file)
    whole = first is None or all(_is_integer(column) for column in first)
    if whole:
        try:
            return EdgeList(table, _all_ids(_tables(table, labels)))
        except InputError:
            # Ids that look like numbers at first may be words later.
            if file.suffix.lower() != ".csv":
                raise
    table = PairTable(file, LINKS, (True, True))
    return EdgeList(table, _all_ids(_tables(table, labels)))


def _check_named(columns: tuple[Any, Any], file: Path) -> None:
    """Refuse fractions, which are neither numbers of users nor words."""
    from pyarrow import types

    for column in columns:
        if types.is_floating(column.type):
            raise InputError(
                f"{file} must name users by integers or by words, got {column.type}: write integers, or take them as ids (--ids)"
            )


def _tables(links: PairTable, labels: Path | None) -> list[PairTable]:
    """The tables that name users: that of links, and that of labels, where ids are text in both or in none."""
    return [links] if labels is None else [links, PairTable(labels, LABELS, (links.texts[0], False))]


def read_labels(file: Path, links: EdgeList) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Users, by numbers, and their labels."""
    text = links.ids is not None and links.ids.dtype.kind == "U"
    batches = list(PairTable(file, LABELS, (text, False)).batches())
    none = np.empty(0, dtype=np.int64)
    users = np.concatenate([none, *(links.numbers(users) for users, _ in batches)])
    labels = np.concatenate([none, *(integers(column, file, CLASSES) for _, column in batches)])
    if len(np.unique(users)) != len(users):
        raise InputError(f"{file} has two labels for one user: leave one of them out")
    return users, labels


def integers(column: Any, file: Path, instead: str = NUMBERS) -> NDArray[np.int64]:
    """A column of integers; ``instead`` is what to do where it is none."""
    if not _is_integer(column):
        raise InputError(f"{file} must hold integers here, got {column.type}: {instead}")
    values = column.to_numpy(zero_copy_only=False)
    if values.size and int(values.max()) > LARGEST:
        raise InputError(f"{file} must hold integers up to {LARGEST}, got {int(values.max())}: {instead}")
    return np.asarray(values, dtype=np.int64)


def _all_ids(tables: list[PairTable]) -> NDArray[Any]:
    """Every id once, in order."""
    from pyarrow import compute

    found: Any = None
    fresh: list[Any] = []
    waiting = 0
    for place, table in enumerate(tables):
        for batch in table.batches():
            # Of a table of labels only the users are ids.
            for column in batch if place == 0 else batch[:1]:
                fresh.append(compute.unique(column))
                waiting += len(fresh[-1])
            # As many as there are already: each id is looked at a few times in all.
            if found is None or waiting >= max(ROWS, len(found)):
                found, fresh, waiting = _merged(found, fresh), [], 0
    found = _merged(found, fresh)
    if found is None:
        return np.empty(0, dtype=np.int64)
    values = found.to_numpy(zero_copy_only=False)
    return np.sort(values.astype(np.str_) if values.dtype == object else values)


def _merged(found: Any, fresh: list[Any]) -> Any:
    """Ids that were found before, and new ones, each once."""
    import pyarrow
    from pyarrow import compute

    parts = fresh if found is None else [found, *fresh]
    if not parts:
        return None
    return compute.unique(pyarrow.concat_arrays([part.cast(parts[0].type) for part in parts]))


def _together(batches: Iterator[tuple[Any, Any]], least: int) -> Iterator[tuple[Any, Any]]:
    """The same rows, at least so many at a time."""
    import pyarrow

    waiting: tuple[list[Any], list[Any]] = ([], [])
    rows = 0
    for batch in batches:
        for column, side in zip(batch, waiting, strict=True):
            side.append(column)
        rows += len(batch[0])
        if rows >= least:
            yield pyarrow.concat_arrays(waiting[0]), pyarrow.concat_arrays(waiting[1])
            waiting, rows = ([], []), 0
    if rows:
        yield pyarrow.concat_arrays(waiting[0]), pyarrow.concat_arrays(waiting[1])


def _id_type(ids: NDArray[Any]) -> Any:
    import pyarrow

    return pyarrow.string() if ids.dtype.kind == "U" else pyarrow.from_numpy_dtype(ids.dtype)


def _is_integer(column: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(column.type))


@contextmanager
def _reading(file: Path, names: tuple[str, str]) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        told = "links" if names == LINKS else "users and labels"
        raise InputError(f"there is no file {file}: name a table of {told}, .csv or .parquet") from None
    except (OSError, UnicodeDecodeError, ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{file} cannot be read ({reason}): mend it; where ids look like numbers at first and like words later, take --ids"
        ) from None
