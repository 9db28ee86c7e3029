"""Tables of two columns, read some rows at a time: CSV with a line of names, or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import short
from graphveil.errors import InputError
from graphveil.files import regular
from graphveil.graphs.tables import check_size, decoded, open_parquet, reading_table

# Bytes of a file that are read together, and rows of a Parquet file.
BLOCK, ROWS = 1 << 22, 1 << 20


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
            raise InputError(
                f"{self.file} has an unknown form: tables are read from .csv or .parquet, a graph from .npz"
            )
        batches = read()
        while True:
            with reading_table(self.file, self.instead):
                batch = next(batches, None)
            if batch is None:
                return
            for place, column in enumerate(batch):
                if column.null_count and not self.optional:
                    name = self.names[place] if self.names else place + 1
                    raise InputError(
                        f"{self.file}: column {name!r} has empty cells: fill them, or leave those rows out"
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
            raise InputError(
                f"{self.file} must begin with a line that names its columns, two at least, with a comma between them"
            )
        if all(name.lstrip("-").isdigit() for name in names[:2]):
            raise InputError(
                f"{self.file} begins with the numbers {short(','.join(names[:2]))}, and not with a line that names its columns: put one "
                "above them, for example source,target"
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
        # Left to itself it would keep all that was read until the end.
        file = open_parquet(self.file, self.instead, pre_buffer=False, buffer_size=BLOCK)
        known = file.schema_arrow.names
        names = self.names or known[:2]
        for name in names:
            if name not in known:
                raise InputError(
                    f"{self.file} has no column {name!r}: it needs {' and '.join(names)}, and has {', '.join(known)}"
                )
        if len(names) < 2:
            raise InputError(f"{self.file} needs two columns, got {len(names)}: {self.instead}")
        for batch in file.iter_batches(ROWS, columns=list(names), use_threads=False):
            first, second = (
                self._readable(batch.column(name), text) for name, text in zip(names, self.texts, strict=True)
            )
            yield first, second

    def _readable(self, column: Any, text: bool) -> Any:
        """A column without dictionaries, as text where it must be."""
        from pyarrow import string, types

        if types.is_dictionary(column.type):
            column = decoded(column, self.file, self.instead)
        return column.cast(string()) if text else column


def _numbers(column: Any, place: dict[str, int]) -> NDArray[np.int64]:
    """The number of each text of a column; texts that are new get the next ones."""
    from pyarrow import compute

    coded = compute.fill_null(column, "").dictionary_encode()
    found = [place.setdefault(word.strip(), len(place)) for word in coded.dictionary.to_pylist()]
    numbers: NDArray[np.int64] = np.array(found, dtype=np.int64)[coded.indices.to_numpy()]
    return numbers
