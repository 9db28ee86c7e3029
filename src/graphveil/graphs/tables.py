"""Parquet and CSV files as arrays, written and read, some rows at a time; pyarrow is loaded when a file is first touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import short
from graphveil.errors import InputError
from graphveil.files import check_gigabytes, memory_limit, regular, unreadable

# Bytes of a file that are read together, and rows of a Parquet file.
BLOCK, PAIR_ROWS = 1 << 22, 1 << 20


@dataclass(frozen=True)
class PairTable:
    """A file of which two columns are read: the first two of a CSV file, those of these ``names`` of a Parquet file.

    ``instead`` says in errors what to do. Columns of which ``texts`` is true are read as text, whatever they look like. Empty cells are
    refused unless they are ``optional``. With ``names`` of None the first two columns of a Parquet file are read as well.
    """

    file: Path
    instead: str
    names: tuple[str, str] | None = None
    texts: tuple[bool, bool] = (False, False)
    optional: bool = False

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """Two columns of Arrow, some rows at a time."""
        read = {".csv": self._csv, ".parquet": self._parquet}.get(self.file.suffix.lower())
        if read is None:
            raise InputError(f"{self.file} has an unknown format: use .csv or .parquet, or .npz for a graph")
        with reading_table(self.file, self.instead):
            for batch in read():
                for place, column in enumerate(batch):
                    if column.null_count and not self.optional:
                        name = self.names[place] if self.names else place + 1
                        raise InputError(
                            f"{self.file}: column {name!r} has empty cells: leave those rows out"
                        )
                yield batch

    def words(self) -> list[tuple[str, str]]:
        """All rows as text, without space around it; an empty cell is an empty text."""
        words, rows = self.numbered()
        return [(words[one], words[other]) for one, other in zip(*rows.T.tolist(), strict=True)]

    def numbered(self) -> tuple[list[str], NDArray[np.int64]]:
        """All different texts, in the order in which the rows have them, and the two numbers of each row.

        Millions of rows with few texts are a small file, and take little time.
        """
        place: dict[str, int] = {}
        rows = [np.empty((0, 2), dtype=np.int64)]
        size = 0
        for batch in self.batches():
            size += sum(column.nbytes for column in batch)
            check_size(size, self.file, self.instead)
            own: dict[str, int] = {}
            pairs = np.stack([_numbers(column, own) for column in batch], axis=1)
            present, first = np.unique(pairs, return_index=True)
            words, numbers = list(own), np.empty(len(own), dtype=np.int64)
            for each in present[np.argsort(first)].tolist():
                numbers[each] = place.setdefault(words[each], len(place))
            rows.append(numbers[pairs])
        return list(place), np.concatenate(rows)

    def _csv(self) -> Iterator[tuple[Any, Any]]:
        from pyarrow import csv, string

        with open(regular(self.file), encoding="utf-8-sig") as opened:
            names = [name.strip().strip('"') for name in opened.readline(BLOCK).strip().split(",")]
        if len(names) < 2:
            raise InputError(f"{self.file} must begin with a line that names its columns, two at least")
        if all(name.lstrip("-").isdigit() for name in names[:2]):
            line = "put a line above them that names the columns, for example source,target"
            raise InputError(f"{self.file} begins with the numbers {short(','.join(names[:2]))}: {line}")
        # Two columns may have the same name: their places tell them apart.
        names = [str(place) for place in range(len(names))]
        types = {name: string() for name, text in zip(names, self.texts, strict=False) if text}
        read = csv.ReadOptions(block_size=BLOCK, use_threads=False, column_names=names, skip_rows=1)
        convert = csv.ConvertOptions(include_columns=names[:2], column_types=types)
        for batch in csv.open_csv(self.file, read_options=read, convert_options=convert):
            yield batch.column(0), batch.column(1)

    def _parquet(self) -> Iterator[tuple[Any, Any]]:
        from pyarrow import string

        # Left to itself it would keep all that was read until the end.
        file = open_parquet(self.file, self.instead, pre_buffer=False, buffer_size=BLOCK)
        known = file.schema_arrow.names
        names = self.names or known[:2]
        for name in names:
            if name not in known:
                has = f"it needs {' and '.join(names)}, and has {', '.join(known)}"
                raise InputError(f"{self.file} has no column {name!r}: {has}")
        if len(names) < 2:
            raise InputError(f"{self.file} needs two columns, got {len(names)}: {self.instead}")
        for batch in file.iter_batches(PAIR_ROWS, columns=list(names), use_threads=False):
            # Without dictionaries, and as text where they must be.
            columns = (decoded(batch.column(name), self.file, self.instead) for name in names)
            first, second = (
                column.cast(string()) if text else column
                for column, text in zip(columns, self.texts, strict=True)
            )
            yield first, second


def _numbers(column: Any, place: dict[str, int]) -> NDArray[np.int64]:
    """The number of each text of a column; texts that are new get the next ones."""
    from pyarrow import compute

    coded = compute.fill_null(column, "").dictionary_encode()
    found = [place.setdefault(word.strip(), len(place)) for word in coded.dictionary.to_pylist()]
    numbers: NDArray[np.int64] = np.array(found, dtype=np.int64)[coded.indices.to_numpy()]
    return numbers


Array = NDArray[Any]
# Bytes that say where a text or a list begins, and rows of lists that are read before they are counted.
POINTER, ROWS = 8, 1 << 16


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


@contextmanager
def writing_table(file: Path, *, plain: bool = False) -> Iterator[Callable[[Columns], None]]:
    """Write a table group by group; plain files can be read in place, others take less room."""
    import pyarrow
    from pyarrow import parquet

    unpacked = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    options = unpacked if plain else {"compression": "zstd"}
    writer: Any = None

    def write(columns: Columns) -> None:
        nonlocal writer
        arrays = {name: _arrow(column) for name, column in columns.items()}
        fields = [pyarrow.field(name, array.type, nullable=False) for name, array in arrays.items()]
        table = pyarrow.table(list(arrays.values()), schema=pyarrow.schema(fields))
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema, **options)
        writer.write_table(table, row_group_size=max(len(table), 1))

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield write
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{file} cannot be written ({reason}): name another folder, or make room") from None
    finally:
        if writer is not None:
            writer.close()


def write_table(file: Path, columns: Columns) -> None:
    """Write a small table at once."""
    with writing_table(file) as write:
        write(columns)


class TableFile:
    """A Parquet file that somebody else may have written: mapped into memory, read row group by row group.

    ``instead`` says in errors what to do where the file is damaged.
    """

    def __init__(self, file: Path, instead: str) -> None:
        self.file, self.instead = file, instead
        with reading_table(file, instead):
            self._table = open_parquet(file, instead, memory_map=True, pre_buffer=False)
            self.names: tuple[str, ...] = tuple(self._table.schema_arrow.names)
            groups = range(self._table.metadata.num_row_groups)
            self.groups = tuple(self._table.metadata.row_group(group).num_rows for group in groups)
            self.metadata: Mapping[bytes, bytes] = self._table.schema_arrow.metadata or {}
        self.rows = sum(self.groups)

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """Columns of the whole table."""
        return self._read(range(len(self.groups)), names)

    def column(self, name: str, group: int | None = None) -> Column:
        """One column, of the whole table or of one row group."""
        return self._read(range(len(self.groups)) if group is None else [group], [name])[name]

    def array(self, name: str, kind: Any, group: int | None = None) -> Array:
        """Return one column, of the whole table or of one row group, which must have that type.

        Parameters
        ----------
        name
            The name of the column.
        kind
            Its type, as numpy names it.
        group
            The row group; None reads all.
        """
        return self.checked_array(self.column(name, group), kind, name)

    def lists(self, name: str, kind: Any = None) -> tuple[NDArray[np.int64], Array]:
        """Row pointers and values of a column that must be lists of that type (of any, where it is None)."""
        column = self.column(name)
        if not isinstance(column, Lists) or column.pointers is None:
            raise self._damaged(f"column {name!r} must be lists")
        if kind is not None:
            self.checked_array(column.values, kind, name)
        return column.pointers, column.values

    def check_rows(self, rows: int) -> None:
        """Refuse a table of another length."""
        if self.rows != rows:
            raise self._damaged(f"it has {self.rows} rows, the manifest says {rows}")

    def checked_array(self, column: Column, kind: Any, name: str) -> Array:
        """Return a column that was read, if it is an array of that type; refuse another one.

        Parameters
        ----------
        column
            The column.
        kind
            The type, as numpy names it.
        name
            The name of the column, for errors.
        """
        if isinstance(column, Lists) or column.dtype != np.dtype(kind):
            got = "lists" if isinstance(column, Lists) else column.dtype
            raise self._damaged(f"column {name!r} must be {np.dtype(kind)}, got {got}")
        return column

    def _read(self, groups: Sequence[int], names: Sequence[str]) -> dict[str, Column]:
        for name in names:
            if name not in self.names:
                raise self._damaged(f"it has no column {name!r}")
        with reading_table(self.file, self.instead):
            table = self._checked(list(groups), list(names))
            if table.num_rows != sum(self.groups[group] for group in groups):
                raise self._damaged("it does not have the rows that it states")
            return {name: self._column(table.column(name), name) for name in table.column_names}

    def _checked(self, groups: list[int], names: list[str]) -> Any:
        """Columns of some row groups, refused by what they take in memory: before they are read, or, of lists, while they are.

        pyarrow ends the process where the metadata of a column is damaged, so nothing is asked of it.
        """
        from pyarrow import Table, types

        kinds = [self._table.schema_arrow.field(name).type for name in names]
        rows = sum(self.groups[group] for group in groups)
        check_size(rows * sum(map(_width, kinds)), self.file, self.instead)
        if not rows or not any(types.is_list(kind) or types.is_large_list(kind) for kind in kinds):
            return self._table.read_row_groups(groups, columns=names, use_threads=False)
        batches, size = [], 0
        for batch in self._table.iter_batches(ROWS, row_groups=groups, columns=names, use_threads=False):
            size += batch.nbytes
            check_size(size, self.file, self.instead)
            batches.append(batch)
        return Table.from_batches(batches)

    def _column(self, chunked: Any, name: str) -> Column:
        from pyarrow import types

        if chunked.null_count:
            raise self._damaged(f"column {name!r} has empty cells")
        array = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
        if types.is_fixed_size_list(array.type):
            return Lists(self._values(array.flatten(), name), array.type.list_size)
        if types.is_large_list(array.type) or types.is_list(array.type):
            offsets = array.offsets.to_numpy().astype(np.int64)
            return Lists(self._values(array.flatten(), name), 0, offsets - offsets[0])
        return self._values(array, name)

    def _values(self, array: Any, name: str) -> Array:
        from pyarrow import types

        if types.is_dictionary(array.type) or _is_text(array.type):
            return text_array(decoded(array, self.file, self.instead), self.file, self.instead)
        if not any(fits(array.type) for fits in (types.is_boolean, types.is_integer, types.is_floating)):
            raise self._damaged(f"column {name!r} must hold numbers or text, got {array.type}")
        if array.null_count:
            raise self._damaged(f"column {name!r} has lists with empty cells")
        found: Array = array.to_numpy(zero_copy_only=False)
        return found

    def _damaged(self, what: str) -> InputError:
        return InputError(f"{self.file} is damaged, or something else: {what}; {self.instead}")


@contextmanager
def reading_table(file: Path, instead: str) -> Iterator[None]:
    """Turn whatever is wrong with a table that is read meanwhile into a sentence."""
    from pyarrow import ArrowException

    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {file}: {instead}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: {instead}") from None
    except OSError as error:
        # Arrow raises the system's errors, and the same class where a file is damaged.
        if error.errno is not None:
            raise unreadable(file, error, instead) from None
        raise _damaged(file, error, instead) from None
    except (ArrowException, ValueError, KeyError, TypeError, IndexError, MemoryError, OverflowError) as error:
        raise _damaged(file, error, instead) from None


def _damaged(file: Path, error: Exception, instead: str) -> InputError:
    # Arrow quotes cells of a CSV file, which is public; of other files no value is shown.
    reason = str(error).partition("\n")[0] if file.suffix.lower() == ".csv" else type(error).__name__
    return InputError(f"{file} is damaged or cannot be read ({reason}): {instead}")


def open_parquet(file: Path, instead: str, **options: Any) -> Any:
    """Open a Parquet file whose columns have different names. Text that repeats stays so until its length is checked."""
    from pyarrow import parquet

    table = parquet.ParquetFile(regular(file), **options)
    schema = table.schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise InputError(f"{file} has two columns of the same name: {instead}")
    texts = [field.name for field in schema if _is_text(field.type)]
    return parquet.ParquetFile(file, read_dictionary=texts, **options) if texts else table


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _width(kind: Any) -> int:
    """Return the bytes that a value of a column takes in memory; for text and lists, those of a pointer."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return POINTER


def check_size(size: int, file: Path, instead: str) -> None:
    """Refuse what would take more memory than a file may.

    Parameters
    ----------
    size
        The bytes it would take.
    file
        The file, for errors.
    instead
        What to do, for errors.
    """
    check_gigabytes(file, size, memory_limit(file), instead)


def decoded(column: Any, file: Path, instead: str) -> Any:
    """Return a column of text with a text of its own for each row, all of it UTF-8 and together no longer than a file may be.

    Parameters
    ----------
    column
        The column, of Arrow.
    file, instead
        The file and what to do, for errors.
    """
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        words = column.dictionary
        words.validate(full=True)
        lengths = compute.binary_length(words).take(column.indices)
        check_size(compute.sum(lengths).as_py() or 0, file, instead)
        return column.dictionary_decode()
    column.validate(full=True)
    return column


def text_array(column: Any, file: Path, instead: str) -> NDArray[np.str_]:
    """Return a column of text as an array, (rows,) of text, in which every text takes as much room as the longest.

    Parameters
    ----------
    column
        The column, of Arrow.
    file, instead
        The file and what to do, for errors.
    """
    from pyarrow import compute

    longest = compute.max(compute.binary_length(column)).as_py() or 1
    check_size(longest * len(column) * np.dtype("U1").itemsize, file, instead)
    return np.array(column.to_pylist(), dtype=np.str_)


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
