"""Artefacts: what a run leaves behind (predictions, embeddings, models), with one writer and one reader of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, ClassVar, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError, create_model

from graphveil import learn
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.experiment import DATA_PREFIX, Experiment, Given, take_data
from graphveil.experiments.table import csv_text, parquet_bytes
from graphveil.experiments.unit import OpenUnit
from graphveil.files import MAX_TEXT, memory_limit, read_arrays, write_whole, writing_whole
from graphveil.graphs.tables import TableFile
from graphveil.graphs.users import Users
from graphveil.privacy.record import Privacy, artefact_statement

CSV, NPZ, PARQUET, TENSORS = ".csv", ".npz", ".parquet", ".pt"
# The name of what is known of an artefact: in an archive, and in the metadata of a .parquet file.
ABOUT, KEY = "about", b"graphveil"
# The column of users in a table, and what the columns of an embedding begin with.
USER, EMBEDDING = "user", "e"
# What is raised where a file is something else, or does not fit itself.
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OverflowError, RecursionError)
Columns = dict[str, NDArray[Any]]
Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True, eq=False)
class Artefact:
    """What one run has learned about users, and where it comes from.

    Parameters
    ----------
    settings
        All settings, with their defaults and the loader's.
    users
        How many users there are.
    edges
        How many links the server knew: those of training where links are predicted, None where links are private.
    privacy
        What the users' ledger says was spent.
    statement
        The same in words.
    """

    # The fields that are arrays: a file keeps them apart from everything else.
    ARRAYS: ClassVar[tuple[str, ...]] = ()

    method: str
    data: str
    task: str
    epsilon: float | None
    mechanism: str | None
    backbone: str
    seed: int
    settings: dict[str, Any]
    version: str
    users: int
    edges: int | None
    privacy: Privacy
    statement: str

    def __post_init__(self) -> None:
        for name in self.ARRAYS:
            if getattr(self, name) is not None:
                getattr(self, name).setflags(write=False)

    @classmethod
    def about_fields(cls) -> list[str]:
        """Return the names of all fields but arrays."""
        return [each.name for each in fields(cls) if each.name not in cls.ARRAYS]

    def about(self) -> dict[str, Any]:
        """Return everything but arrays, as JSON has it."""
        known = {name: getattr(self, name) for name in self.about_fields()}
        return {**known, "privacy": self.privacy.to_dict()}

    @classmethod
    def parse_about(cls, about: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that `about` has written, each of its type."""
        hints = get_type_hints(cls)
        types: dict[str, Any] = {name: (hints[name], ...) for name in cls.about_fields()}
        return dict(create_model(cls.__name__, **types).model_validate(about))


def about_run(ready: OpenUnit, what: str, *, simulated: bool = True, drawn: str = "") -> dict[str, Any]:
    """Return the fields of `Artefact` for what a run of an experiment has made; ``what`` it is, in a word.

    Reports are ``simulated`` from the run's seed, unless devices have sent them; ``drawn`` says it where only some are.
    """
    spec, seed, privacy = ready.unit.spec, ready.unit.seed, ready.privacy()
    private_links = spec.budgets.link_epsilon is not None
    graph = ready.job.graph
    known = bool((graph.labels >= 0).any())
    public = [*(() if private_links else ("links",)), *(("known labels",) if known else ())]
    given = {**spec.settings, **{DATA_PREFIX + key: value for key, value in spec.data_options.items()}}
    # As a file gives them back: lists for tuples.
    settings = json.loads(json.dumps({**given, **spec.resolved_settings.model_dump()}, default=str))
    return {
        **spec.about(),
        "seed": seed,
        "settings": settings,
        "users": graph.node_count,
        "edges": None if private_links else graph.edge_count,
        "privacy": privacy,
        "statement": artefact_statement(privacy, seed if simulated else None, public, what, drawn),
    }


def one_run_experiment(
    method: str, data: Any, users: Users | None, options: dict[str, Any], what: str
) -> tuple[Experiment, Given | None]:
    """Return the experiment of a call that makes an artefact, and the graph with its users where these are objects.

    ``what`` begins the sentence about options of several runs.
    """
    for name in ("runs", "control"):
        if name in options:
            raise InputError(f"{what} from one run without a control: leave {name} out")
    data_name, given, options = take_data(data, users, options)
    return Experiment.of(method, data_name, **options), given


def record_file(file: Path) -> Path:
    """Return the file beside a table that says what it cost.

    >>> str(record_file(Path("town.csv")))
    'town.csv.json'
    """
    return file.with_name(f"{file.name}.json")


def matrix_columns(prefix: str, rows: NDArray[Any]) -> Columns:
    """Return the columns of a matrix under the names that they have in a table.

    >>> list(matrix_columns("p", np.zeros((2, 3))))
    ['p0', 'p1', 'p2']
    """
    return {f"{prefix}{place}": column for place, column in enumerate(rows.T)}


def write_artefact(
    file: Path, content: Mapping[str, Any], about: Mapping[str, Any], *, record: bool = False
) -> None:
    """Write a file as a whole or not at all, in the format that its name ends in.

    Parameters
    ----------
    content
        Columns by name for .csv and .parquet, arrays by name for .npz, tensors in dictionaries and lists for .pt.
    about
        What is known of the artefact. Every format but .csv holds it.
    record
        Whether ``about`` is written to FILE.json too. It is there before the table is.
    """
    text = json.dumps(about, ensure_ascii=False, sort_keys=True, indent=1, default=str)
    if record:
        write_whole(record_file(file), f"{text}\n")
    with writing_whole(file) as stream:
        WRITERS[file.suffix](stream, content, text)


def read_artefact(
    file: Path, what: str, instead: str, make: Callable[[dict[str, Any], dict[str, Any]], Made]
) -> Made:
    """Return what ``make`` makes of the content of a file and of what is known of it. No code is run, and sizes are limited.

    Whatever is wrong with the file becomes one sentence: ``what`` it should hold, and ``instead`` what to do.
    """
    if not file.is_file():
        raise InputError(f"{file} is not there: {instead}")
    content = READERS.get(file.suffix, READERS[TENSORS])(file, what, instead)
    try:
        return make(content, json.loads(content.pop(ABOUT)))
    except (GraphveilError, ValidationError) as error:
        raise InputError(f"{file} holds no {what} ({_problem(error)}): {instead}") from None
    except DAMAGED:
        raise InputError(f"{file} holds no {what}: {instead}") from None


def _problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def _write_csv(stream: IO[bytes], columns: Mapping[str, Any], _about: str) -> None:
    stream.write(csv_text(columns, zip(*map(_cells, columns.values()), strict=True)).encode())


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return numbers as they are, but probabilities with six digits."""
    if column.dtype.kind == "f":
        return [f"{value:.6g}" for value in np.asarray(column, dtype=np.float64)]
    cells: list[Any] = column.tolist()
    return cells


def _write_npz(stream: IO[bytes], arrays: Mapping[str, Any], about: str) -> None:
    np.savez(stream, **arrays, about=np.array(about))


def _read_npz(file: Path, what: str, instead: str) -> dict[str, Any]:
    # What we write is not packed.
    arrays = read_arrays(file, memory_limit(file, MAX_TEXT / 1e9), f"an {what}", instead)
    return {name: str(array) if name == ABOUT else array for name, array in arrays.items()}


def _write_parquet(stream: IO[bytes], columns: Mapping[str, Any], about: str) -> None:
    import pyarrow

    arrays = {
        name: pyarrow.array(column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column))
        for name, column in columns.items()
    }
    stream.write(parquet_bytes(arrays, {KEY: about.encode()}))


def _read_parquet(file: Path, _what: str, instead: str) -> dict[str, Any]:
    """Return the rows of an embedding, the only table that is read back."""
    table = TableFile(file, instead)
    names = [f"{EMBEDDING}{place}" for place in range(len(table.names) - 1)]
    columns = table.read([USER, *names])
    users = table.checked_array(columns[USER], np.int64, USER)
    # Rows in another order still belong to the same users.
    if not np.array_equal(np.sort(users), np.arange(len(users))):
        raise InputError(f"{file}: users are missing or repeated: {instead}")
    values = np.empty((len(users), len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        values[users, place] = table.checked_array(columns[name], np.float32, name)
    return {"values": values, ABOUT: table.metadata.get(KEY, b"")}


def _write_tensors(stream: IO[bytes], content: Mapping[str, Any], about: str) -> None:
    import torch

    torch.save({ABOUT: about, **content}, stream)


def _read_tensors(file: Path, what: str, instead: str) -> dict[str, Any]:
    content: dict[str, Any] = learn.read_tensors(file, what, instead, "cpu")
    return content


WRITERS: dict[str, Callable[[IO[bytes], Mapping[str, Any], str], None]] = {
    CSV: _write_csv,
    NPZ: _write_npz,
    PARQUET: _write_parquet,
    TENSORS: _write_tensors,
}
# Anything else is read as tensors, which `torch.save` writes under any name.
READERS: dict[str, Callable[[Path, str, str], dict[str, Any]]] = {
    NPZ: _read_npz,
    PARQUET: _read_parquet,
    TENSORS: _read_tensors,
}
