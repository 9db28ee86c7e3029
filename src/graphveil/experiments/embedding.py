"""Embeddings: a row of numbers for each user, and what it cost them; as arrays and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from graphveil import learn
from graphveil.arrays import read_arrays
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, take_data
from graphveil.experiments.predictions import AboutRun, about_run
from graphveil.experiments.unit import make_ready
from graphveil.files import MAX_TEXT, memory_limit, writing_whole
from graphveil.graphs import Graph, Users
from graphveil.graphs.tables import TableFile
from graphveil.methods.job import Progress

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


# Rows that are multiplied in double precision at once.
BLOCK = 4096


def check_dims(dims: Any) -> None:
    """Refuse a number of columns that no table could have."""
    if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
        raise InputError(f"--dims must be an integer of at least 1, got {dims!r}")


def reduce_columns(values: NDArray[np.float32], dims: int) -> NDArray[np.float32]:
    """The rows in the coordinates of the ``dims`` largest singular values, the largest first.

    The right singular vectors are eigenvectors of the columns' products, summed in double precision; each has its largest
    entry positive, so that nothing about the result is left to chance.

    >>> reduce_columns(np.array([[3, 4], [6, 8]], dtype=np.float32), 1).tolist()
    [[5.0], [10.0]]
    """
    check_dims(dims)
    most = min(values.shape)
    if dims > most:
        rows, columns = values.shape
        raise InputError(
            f"this embedding has {rows} rows and {columns} columns, which cannot be reduced to {dims} dims: "
            f"give at most {most}"
        )
    from scipy.linalg import eigh

    columns = values.shape[1]
    products = np.zeros((columns, columns))
    for block in _blocks(values):
        products += block.T @ block
    vectors = eigh(products, subset_by_index=(columns - dims, columns - 1))[1][:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(dims)]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)
    return np.concatenate([(block @ vectors).astype(np.float32) for block in _blocks(values)])


def _blocks(values: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(values), BLOCK):
        yield values[start : start + BLOCK].astype(np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class About(AboutRun):
    """What is known of an embedding besides its numbers; ``reduced_from`` is the number of columns before a reduction."""

    reduced_from: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding(About):
    """A row of numbers for each user (n x h), and what is known of it."""

    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != self.users:
            raise InputError(
                f"an embedding must have one row for each of {self.users} users, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise InputError("an embedding must have finite numbers only: give a smaller learning rate (lr)")
        self.values.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Users and columns."""
        rows, columns = self.values.shape
        return rows, columns

    def about(self) -> dict[str, Any]:
        """Everything but the numbers."""
        return {each.name: getattr(self, each.name) for each in fields(About)}

    def save(self, path: str | Path) -> None:
        """Write it as .npz or .parquet; `read_embedding` brings it back."""
        write_values(Path(path), self.values, self.about())


def read_embedding(path: str | Path) -> Embedding:
    """The embedding that `Embedding.save` or `graphveil embed` has written."""
    values, about = read_values(Path(path))
    try:
        known = TypeAdapter(About).validate_python(about)
        return Embedding(values=values, **vars(known))
    except (ValidationError, InputError) as error:
        problem = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            problem = f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
        raise InputError(
            f"{path} holds no embedding ({problem}): name a file that `graphveil embed` has written"
        ) from None


def embed(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Embedding:
    """The embedding that a method learns on a dataset (a name or a path, a graph with its users, or PyG's Data).

    Options are those fields of `Experiment` that one run has: epsilon, mechanism, backbone, task, seed, settings and so on.
    ``dims`` reduces the columns, which costs nobody anything.
    """
    for name in ("runs", "control"):
        if name in options:
            raise InputError(f"an embedding comes from one run without a control: leave {name} out")
    name, given, options = take_data(data, users, options)
    return embed_experiment(Experiment.of(method, name, **options), dims=dims, inside=inside, given=given)


def embed_experiment(
    spec: Experiment,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> Embedding:
    """The embedding of a spec's first run: the same split, the same reports and the same model as `run_experiment` has there."""
    return embed_known(spec, dims=dims, inside=inside, given=given)[0]


def embed_known(
    spec: Experiment,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> tuple[Embedding, Graph]:
    """The embedding of a spec's first run, and the graph with all that its server knew before anybody answered."""
    check_embedding(spec, dims)
    if given is not None:
        spec.check_given(given[0])
    with learn.one_thread():
        ready = make_ready(spec, "method", 0, inside, given)
        whole = np.array(ready.method.embed(ready.job), dtype=np.float32)
    values = whole if dims is None else reduce_columns(whole, dims)
    reduced_from = None if dims is None else whole.shape[1]
    embedding = Embedding(values=values, reduced_from=reduced_from, **about_run(spec, ready, 0, "embedding"))
    return embedding, ready.job.graph


def check_embedding(spec: Experiment, dims: int | None) -> None:
    """Refuse what cannot be embedded, before anything heavy is imported."""
    spec.check()
    if dims is not None:
        check_dims(dims)
