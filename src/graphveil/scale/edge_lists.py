"""Tables of links, read some rows at a time: CSV files, and Parquet files with the columns source and target.

Integers are the numbers of users. Text is taken for ids, and so are integers where the caller says so: users are then numbered by
the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.tables import ROWS, PairTable, text_array

LINKS, LABELS = ("source", "target"), ("user", "label")
# What to write in place of something else, where users stand and where labels do.
NUMBERS, CLASSES = "write numbers, or take --ids", "write the classes as 0, 1, …, and -1 where none is known"
# What to do where a table cannot be read.
MEND = "mend it; where ids look like numbers at first and like words later, take --ids"
LARGEST = np.iinfo(np.int64).max


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
    table = _links(file)
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
    table = _links(file, text=True)
    return EdgeList(table, _all_ids(_tables(table, labels)))


def _links(file: Path, text: bool = False) -> PairTable:
    return PairTable(file, f"name a table of links, or {MEND}", LINKS, (text, text))


def _labels(file: Path, text: bool) -> PairTable:
    return PairTable(file, f"name a table of users and labels, or {MEND}", LABELS, (text, False))


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
    return [links] if labels is None else [links, _labels(labels, links.texts[0])]


def read_labels(file: Path, links: EdgeList) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Users, by numbers, and their labels."""
    text = links.ids is not None and links.ids.dtype.kind == "U"
    batches = list(_labels(file, text).batches())
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
    from pyarrow import types

    if types.is_integer(found.type):
        return np.sort(found.to_numpy(zero_copy_only=False))
    file, instead = tables[0].file, tables[0].instead
    if not types.is_string(found.type):
        raise InputError(f"{file} must name users by integers or by words, got {found.type}: {instead}")
    return np.sort(text_array(found, file, instead))


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
