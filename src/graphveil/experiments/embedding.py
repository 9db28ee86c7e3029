"""Embeddings: a row of numbers for each user, and what it cost them; as arrays and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.experiments.artefacts import (
    EMBEDDING,
    NPZ,
    PARQUET,
    USER,
    Artefact,
    Columns,
    about_run,
    matrix_columns,
    one_run_experiment,
    read_artefact,
    write_artefact,
)
from graphveil.experiments.drawings import embedding_map
from graphveil.experiments.experiment import Experiment, Given
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.files import check_format, check_output
from graphveil.graphs import Users
from graphveil.methods.job import Progress

# What errors call a file of embeddings, and what its name ends in.
FORMATS = (NPZ, PARQUET)
# Rows that are multiplied in double precision at once.
BLOCK = 4096


def reduce_columns(values: NDArray[np.float32], dims: int) -> NDArray[np.float32]:
    """Return the rows in the coordinates of the ``dims`` largest singular values, the largest first.

    The right singular vectors are eigenvectors of the columns' products, summed in double precision; each has its largest
    entry positive, so that nothing about the result is left to chance.

    >>> reduce_columns(np.array([[3, 4], [6, 8]], dtype=np.float32), 1).tolist()
    [[5.0], [10.0]]
    """
    check_whole(dims, "--dims", least=1)
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
class Embedding(Artefact):
    """A row of numbers for each user (n x h); ``reduced_from`` is the number of columns before a reduction."""

    ARRAYS: ClassVar[tuple[str, ...]] = ("values",)

    reduced_from: int | None
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != self.users:
            raise InputError(
                f"an embedding must have one row for each of {self.users} users, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise InputError("an embedding must have finite numbers only: give a smaller learning rate (lr)")
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, int]:
        """Users and columns."""
        rows, columns = self.values.shape
        return rows, columns

    def save(self, path: str | Path) -> None:
        """Write it as .npz or .parquet; `read_embedding` brings it back."""
        file = check_output(Path(path), FORMATS)
        content: Columns = {"values": self.values}
        if file.suffix == PARQUET:
            content = {USER: np.arange(self.users), **matrix_columns(EMBEDDING, self.values)}
        write_artefact(file, content, self.about())


def read_embedding(path: str | Path) -> Embedding:
    """Read the embedding that `Embedding.save` or `graphveil embed` has written."""
    file = check_format(Path(path), FORMATS)
    return read_artefact(file, "embedding", "name a file that `graphveil embed` has written", _from_content)


def _from_content(content: dict[str, Any], about: dict[str, Any]) -> Embedding:
    values = content["values"]
    if values.dtype != np.float32:
        raise ValueError(values.dtype)
    return Embedding(values=values, **Embedding.parse_about(about))


def embed(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Embedding:
    """Return the embedding that a method learns on a dataset (a name or a path, a graph with its users, or PyG's Data).

    Options are those fields of `Experiment` that one run has: epsilon, mechanism, backbone, task, seed, settings and so on.
    ``dims`` reduces the columns, which costs nobody anything.
    """
    spec, given = one_run_experiment(method, data, users, options, "an embedding comes")
    return embed_experiment(spec, dims=dims, inside=inside, given=given)


def embed_experiment(
    spec: Experiment,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: Given | None = None,
    map_file: Path | None = None,
) -> Embedding:
    """Return the embedding of an experiment's first run: split, reports and model are those of `run_experiment`.

    A map of the rows is drawn into ``map_file``, with the classes that the server knew before anybody answered.
    """
    check_embedding(spec, dims)
    if given is not None:
        spec.check_given(given[0])
    with learn.one_thread():
        ready = open_unit(RunUnit(spec, given=given), inside)
        whole = np.array(ready.method.embed(ready.job), dtype=np.float32)
    values = whole if dims is None else reduce_columns(whole, dims)
    reduced_from = None if dims is None else whole.shape[1]
    embedding = Embedding(values=values, reduced_from=reduced_from, **about_run(ready, "embedding"))
    if map_file is not None:
        ready.job.say("drawing the map", 1.0)
        embedding_map(spec, values, ready.job.graph).write(map_file)
    return embedding


def check_embedding(spec: Experiment, dims: int | None) -> None:
    """Reject what cannot be embedded, before anything heavy is imported."""
    spec.check()
    if dims is not None:
        check_whole(dims, "--dims", least=1)
