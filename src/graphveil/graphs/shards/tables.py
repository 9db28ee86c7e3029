"""Parquet files as arrays: the one place that knows pyarrow, which is loaded when a file is first touched.

Columns never hold nulls. A column is an array, or a `Lists`: a row of values for each row of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.shards.manifest import AGAIN

Array = NDArray[Any]


def load_library() -> None:
    """Load pyarrow, and whatever it loads itself with its first table."""
    import pyarrow

    pyarrow.table({"number": pyarrow.array(np.zeros(1))})


@dataclass(frozen=True, eq=False)
class Lists:
    """Rows of values: ``pointers`` say where each begins and the last one ends; without them all have ``width`` values."""

    values: Array
    width: int = 0
    pointers: Array | None = None


Column = Array | Lists
Columns = Mapping[str, Column]


class TableWriter:
    """Writes a table group by group; plain files can be read in place, others take less room."""

    def __init__(self, file: Path, *, plain: bool = False) -> None:
        self._file, self._plain = file, plain
        self._writer: Any = None

    def write(self, columns: Columns) -> None:
        """One more row group."""
        import pyarrow
        from pyarrow import parquet

        arrays = {name: _arrow(column) for name, column in columns.items()}
        schema = pyarrow.schema(
            [pyarrow.field(name, array.type, nullable=False) for name, array in arrays.items()]
        )
        table = pyarrow.table(list(arrays.values()), schema=schema)
        if self._writer is None:
            plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
            options = plain if self._plain else {"compression": "zstd"}
            self._writer = parquet.ParquetWriter(self._file, schema, **options)
        self._writer.write_table(table, row_group_size=max(len(table), 1))

    def close(self) -> None:
        """The end of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def writing_table(file: Path, *, plain: bool = False) -> Iterator[Callable[[Columns], None]]:
    """Write a table group by group; what cannot be written is said in a sentence."""
    writer = TableWriter(file, plain=plain)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield writer.write
    except OSError as error:
        raise InputError(
            f"{file} cannot be written ({error.strerror or error}): name another folder, or make room"
        ) from None
    finally:
        writer.close()


def write_table(file: Path, columns: Columns) -> None:
    """Write a small table at once."""
    with writing_table(file) as write:
        write(columns)


class TableFile:
    """A table that somebody else may have written: mapped into memory, read row group by row group."""

    def __init__(self, file: Path) -> None:
        from pyarrow import parquet

        self.file = file
        with _reading(file):
            self._table = parquet.ParquetFile(file, memory_map=True, pre_buffer=False)
            self.names: tuple[str, ...] = tuple(self._table.schema_arrow.names)
            groups = range(self._table.metadata.num_row_groups)
            self.groups = tuple(self._table.metadata.row_group(group).num_rows for group in groups)
        self.rows = sum(self.groups)

    def group(self, group: int, names: Sequence[str]) -> dict[str, Column]:
        """Columns of one row group."""
        self._check_names(names)
        with _reading(self.file):
            return _columns(
                self._table.read_row_group(group, columns=list(names), use_threads=False), self.file
            )

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """Columns of the whole table."""
        self._check_names(names)
        with _reading(self.file):
            return _columns(self._table.read(columns=list(names), use_threads=False), self.file)

    def array(self, name: str, kind: Any) -> Array:
        """One column of the whole table, which must have that type."""
        return checked_array(self.read([name])[name], kind, name, self.file)

    def check_rows(self, rows: int) -> None:
        """Refuse a table of another length."""
        if self.rows != rows:
            raise InputError(
                f"{self.file} has {self.rows} rows, and the manifest says {rows}: it is damaged, {AGAIN}"
            )

    def _check_names(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.names:
                raise InputError(
                    f"{self.file} has no column {name!r}: it is damaged or not of a sharded graph, {AGAIN}"
                )


def checked_array(column: Column, kind: Any, name: str, file: Path) -> Array:
    """A column that must be an array of that type."""
    if isinstance(column, Lists) or column.dtype != np.dtype(kind):
        got = "lists" if isinstance(column, Lists) else column.dtype
        raise InputError(f"{file}: column {name!r} must be {np.dtype(kind)}, got {got}: {AGAIN}")
    return column


def checked_lists(column: Column, kind: Any, name: str, file: Path) -> tuple[NDArray[np.int64], Array]:
    """Row pointers and values of a column that must be lists of that type (of any, where it is None)."""
    if not isinstance(column, Lists) or column.pointers is None:
        raise InputError(f"{file}: column {name!r} must be lists: {AGAIN}")
    if kind is not None:
        checked_array(column.values, kind, name, file)
    return column.pointers, column.values


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{file} is missing: copy the whole folder, or {AGAIN}") from None
    except (OSError, ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file} is damaged or cannot be read ({reason}): {AGAIN}") from None


def _arrow(column: Column) -> Any:
    import pyarrow

    if not isinstance(column, Lists):
        return pyarrow.array(column)
    values = pyarrow.array(column.values)
    element = pyarrow.field("element", values.type, nullable=False)
    if column.pointers is None:
        return pyarrow.FixedSizeListArray.from_arrays(values, type=pyarrow.list_(element, column.width))
    pointers = pyarrow.array(column.pointers.astype(np.int64))
    return pyarrow.LargeListArray.from_arrays(pointers, values, type=pyarrow.large_list(element))


def _columns(table: Any, file: Path) -> dict[str, Column]:
    return {name: _column(table.column(name), name, file) for name in table.column_names}


def _column(chunked: Any, name: str, file: Path) -> Column:
    import pyarrow

    if chunked.null_count:
        raise InputError(f"{file}: column {name!r} has empty cells: {AGAIN}")
    array = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
    if pyarrow.types.is_fixed_size_list(array.type):
        return Lists(_numpy(array.flatten()), array.type.list_size)
    if pyarrow.types.is_large_list(array.type) or pyarrow.types.is_list(array.type):
        offsets = array.offsets.to_numpy().astype(np.int64)
        return Lists(_numpy(array.flatten()), 0, offsets - offsets[0])
    return _numpy(array)


def _numpy(array: Any) -> Array:
    import pyarrow

    if pyarrow.types.is_string(array.type) or pyarrow.types.is_large_string(array.type):
        return np.array(array.to_pylist(), dtype=np.str_)
    found: Array = array.to_numpy(zero_copy_only=False)
    return found
