"""Files of predictions: a table of users as .csv or .parquet, and what is known of it beside it as .json."""

from __future__ import annotations

import csv
import io
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.experiments.store.whole_file import write_whole

CSV, PARQUET, RECORD = ".csv", ".parquet", ".json"
SUFFIXES = (PARQUET, CSV)
# Where a .parquet file keeps what is known of the table, besides the file beside it.
KEY = b"graphveil"
Columns = dict[str, NDArray[Any]]


def check_predictions_file(file: Path) -> Path:
    """Refuse, before anything is computed, a file that could not be written."""
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} is no file of predictions: name one that ends in {' or '.join(SUFFIXES)}")
    if file.suffix == PARQUET and find_spec("pyarrow") is None:
        raise InputError(
            f"{file} needs pyarrow, which is not installed: pip install 'graphveil[parquet]', or name a .csv file"
        )
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    for each in (file, record_file(file)):
        if each.is_dir():
            raise InputError(f"{each} is a folder: name a file")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file.parent} may not be written to: name a file in another folder")
    return file


def record_file(file: Path) -> Path:
    """The file beside a table that says what it cost.

    >>> str(record_file(Path("town.csv")))
    'town.csv.json'
    """
    return file.with_name(file.name + RECORD)


def write_predictions(file: Path, columns: Columns, about: dict[str, Any]) -> None:
    """Write the record and then the table, each as a whole or not at all: no table is there without its record."""
    check_predictions_file(file)
    text = json.dumps(about, ensure_ascii=False, sort_keys=True, indent=1)
    write_whole(record_file(file), (text + "\n").encode())
    write_whole(file, _csv(columns) if file.suffix == CSV else _parquet(columns, text))


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = [_cells(column) for column in columns.values()]
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue().encode()


def _cells(column: NDArray[Any]) -> list[Any]:
    """Numbers as they are, but for probabilities, which six digits tell well enough."""
    if column.dtype.kind == "f":
        return [f"{value:.6g}" for value in np.asarray(column, dtype=np.float64)]
    cells: list[Any] = column.tolist()
    return cells


def _parquet(columns: Columns, text: str) -> bytes:
    import pyarrow
    from pyarrow import parquet

    arrays = {
        name: pyarrow.array(column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column))
        for name, column in columns.items()
    }
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays).replace_schema_metadata({KEY: text.encode()}), buffer)
    return buffer.getvalue()
