"""Files of embeddings: a table of users and what is known of it, as .npz or as .parquet."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.arrays import read_arrays
from graphveil.errors import InputError
from graphveil.experiments.store.whole_file import writing_whole
from graphveil.files import MAX_TEXT, memory_limit
from graphveil.graphs.tables import TableFile

NPZ, PARQUET = ".npz", ".parquet"
SUFFIXES = (NPZ, PARQUET)
# Where a .parquet file keeps what is known of the table, and the numbers of users.
KEY, USER = b"graphveil", "user"
WRITTEN = "name a file that `graphveil embed` has written"
Values = NDArray[np.float32]


def check_file(file: Path) -> Path:
    """Refuse, before anything is computed, a file that could not be written."""
    _check_suffix(file)
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name a file")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file.parent} may not be written to: name a file in another folder")
    return file


def write_values(file: Path, values: Values, about: dict[str, Any]) -> None:
    """Write the file: it is there as a whole or not at all."""
    check_file(file)
    text = json.dumps(about, ensure_ascii=False, sort_keys=True)
    with writing_whole(file) as stream:
        (_write_npz if file.suffix == NPZ else _write_parquet)(stream, values, text)


def read_values(file: Path) -> tuple[Values, dict[str, Any]]:
    """The table and what is known of it; a file that is no embedding is refused."""
    _check_suffix(file)
    if not file.is_file():
        raise InputError(f"{file} is not there: {WRITTEN}")
    try:
        values, text = (_read_npz if file.suffix == NPZ else _read_parquet)(file)
        about = json.loads(text)
    except InputError:
        raise
    except (ValueError, KeyError, RecursionError):
        raise _no_embedding(file) from None
    numbers = values.ndim == 2 and values.dtype == np.float32
    if not numbers or not isinstance(about, dict):
        raise _no_embedding(file)
    return values, about


def _no_embedding(file: Path) -> InputError:
    return InputError(f"{file} holds no embedding: {WRITTEN}")


def _check_suffix(file: Path) -> None:
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} is no file of embeddings: name one that ends in {' or '.join(SUFFIXES)}")
    if file.suffix == PARQUET and find_spec("pyarrow") is None:
        raise InputError(
            f"{file} needs pyarrow, which is not installed: pip install 'graphveil[parquet]', or name an .npz file"
        )


def _write_npz(stream: IO[bytes], values: Values, text: str) -> None:
    np.savez(stream, values=values, about=np.array(text))


def _read_npz(file: Path) -> tuple[Values, str]:
    # What we write is not packed.
    held = read_arrays(file, memory_limit(file, MAX_TEXT / 1e9), "an embedding", WRITTEN)
    return held["values"], str(held["about"])


def _write_parquet(stream: IO[bytes], values: Values, text: str) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {USER: np.arange(len(values))}
    columns |= {f"e{place}": np.ascontiguousarray(column) for place, column in enumerate(values.T)}
    table = pyarrow.table(columns).replace_schema_metadata({KEY: text.encode()})
    parquet.write_table(table, stream)


def _read_parquet(file: Path) -> tuple[Values, str]:
    table = TableFile(file, WRITTEN)
    names = [f"e{place}" for place in range(len(table.names) - 1)]
    columns = table.read([USER, *names])
    users = table.checked_array(columns[USER], np.int64, USER)
    # Whoever sorted the rows otherwise has not changed whose they are.
    if not np.array_equal(np.sort(users), np.arange(len(users))):
        raise ValueError("users are missing or repeated")
    values = np.empty((len(users), len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        values[users, place] = table.checked_array(columns[name], np.float32, name)
    return values, table.metadata[KEY].decode()
