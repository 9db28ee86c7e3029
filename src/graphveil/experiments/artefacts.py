"""Artefacts: what a run leaves behind (predictions, embeddings), what it cost, and one writer and reader of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError, create_model

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.drawings import embedding_map
from graphveil.experiments.experiment import DATA_PREFIX, Experiment, Given, take_data
from graphveil.experiments.experiment_file import first_problem
from graphveil.experiments.table import csv_text, parquet_bytes
from graphveil.experiments.unit import OpenUnit, RunUnit, learn_unit, open_unit, predicted_classes
from graphveil.files import (
    MAX_TEXT,
    check_format,
    check_output,
    memory_limit,
    read_arrays,
    write_whole,
    writing_whole,
)
from graphveil.graphs.graph import Graph, Mask
from graphveil.graphs.part import Group
from graphveil.graphs.tables import TableFile
from graphveil.graphs.users import Users
from graphveil.methods.job import Progress
from graphveil.methods.tasks import Outcome
from graphveil.number_format import percent
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
# What an embedding is written as.
FORMATS = (NPZ, PARQUET)
# Rows that are multiplied in double precision at once.
BLOCK = 4096
# What part of the split a user is in: in none, or joined after the training, where it is none of the three.
PARTS, NO_PART, JOINED = ("train", "validation", "test"), "none", "joined"


@dataclass(frozen=True, kw_only=True, eq=False)
class Artefact:
    """The outcome of one run about its users, with its provenance.

    Parameters
    ----------
    settings
        All settings, with their defaults and the loader's.
    users
        The number of users.
    edges
        The number of links the server knew: training links if links are predicted, None if links are private.
    privacy
        The spending that the users' ledger recorded.
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

    def about(self) -> dict[str, Any]:
        """Return everything but arrays, as JSON has it."""
        known = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in self.ARRAYS}
        return {**known, "privacy": self.privacy.to_dict()}


def about_run(ready: OpenUnit, what: str, *, simulated: bool = True, drawn: str = "") -> dict[str, Any]:
    """Return the fields of `Artefact` for the outcome of a run.

    Parameters
    ----------
    what
        The kind of artefact, in a word.
    simulated
        Whether reports were simulated from the run's seed, not sent by devices.
    drawn
        A sentence about the reports, if only some were simulated.
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
    """Return the experiment of a call that makes an artefact, and graph and users if these are objects.

    Parameters
    ----------
    method, data, users
        As in `predict`.
    options
        The fields of the experiment, by name.
    what
        How the error about options that only several runs have begins.
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
    """Write a file atomically, in the format of its suffix.

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
        if file.suffix == CSV:
            stream.write(csv_text(content, zip(*map(_cells, content.values()), strict=True)).encode())
        elif file.suffix == PARQUET:
            columns = {name: _arrow(column) for name, column in content.items()}
            stream.write(parquet_bytes(columns, {KEY: text.encode()}))
        elif file.suffix == NPZ:
            np.savez(stream, **content, about=np.array(text))
        else:
            import torch

            torch.save({ABOUT: text, **content}, stream)


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return numbers as they are, but probabilities with six digits."""
    if column.dtype.kind == "f":
        return [f"{value:.6g}" for value in np.asarray(column, dtype=np.float64)]
    cells: list[Any] = column.tolist()
    return cells


def _arrow(column: NDArray[Any]) -> Any:
    import pyarrow

    return pyarrow.array(column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column))


def read_artefact(
    file: Path, what: str, instead: str, make: Callable[[dict[str, Any], dict[str, Any]], Made]
) -> Made:
    """Read an artefact from a file. No code is run, and sizes are limited.

    Parameters
    ----------
    what
        The kind of artefact that the file should hold, for errors.
    instead
        Advice that ends errors.
    make
        Makes the artefact from the arrays of the file and its other fields.
    """
    if not file.is_file():
        raise InputError(f"{file} is not there: {instead}")
    if file.suffix == NPZ:
        # What we write is not packed.
        content = read_arrays(file, memory_limit(file, MAX_TEXT / 1e9), f"an {what}", instead)
    elif file.suffix == PARQUET:
        content = _read_rows(TableFile(file, instead), instead)
    else:
        # `torch.save` writes under any name.
        content = learn.read_tensors(file, what, instead, "cpu")
    try:
        text = content.pop(ABOUT)
        return make(content, json.loads(str(text) if isinstance(text, np.ndarray) else text))
    except (GraphveilError, ValidationError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else error
        raise InputError(f"{file} holds no {what} ({problem}): {instead}") from None
    except DAMAGED:
        raise InputError(f"{file} holds no {what}: {instead}") from None


def _read_rows(table: TableFile, instead: str) -> dict[str, Any]:
    """Return the rows of an embedding, the only table that is read back."""
    names = [f"{EMBEDDING}{place}" for place in range(len(table.names) - 1)]
    columns = table.read([USER, *names])
    users = table.checked_array(columns[USER], np.int64, USER)
    # Rows in another order still belong to the same users.
    if not np.array_equal(np.sort(users), np.arange(len(users))):
        raise InputError(f"{table.file}: users are missing or repeated: {instead}")
    values = np.empty((len(users), len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        values[users, place] = table.checked_array(columns[name], np.float32, name)
    return {"values": values, ABOUT: table.metadata.get(KEY, b"")}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictions(Artefact):
    """The predictions of a method for each of n users in one run. It holds no private data of users.

    Parameters
    ----------
    metric, score, tested
        The score on the ``tested`` test users, computed on the users' side; None without test users.
    calibration
        Whether probabilities were calibrated, and how.
    classes
        The predicted classes (n integers), or 0 and 1 (n x labels) where a user may have several labels.
    probabilities
        Those of all classes or labels (n x C).
    parts
        Who trained, validated or tested: "train", "validation", "test" or "none".
    ids
        What users are called elsewhere, where the graph has ids; else they are numbered.
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ("classes", "probabilities", "parts", "ids")

    metric: str
    score: float | None
    tested: int
    calibration: str
    classes: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    parts: NDArray[np.str_]
    ids: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self.users

    @property
    def several(self) -> bool:
        """Whether a user may have several labels."""
        return self.classes.ndim == 2

    @property
    def probability(self) -> NDArray[np.float32]:
        """The probability of each user's predicted class, (n,) float32."""
        if self.several:
            raise InputError("users have several labels each: look at probabilities, a column a label")
        chosen: NDArray[np.float32] = self.probabilities[np.arange(self.users), self.classes]
        return chosen

    def columns(self) -> Columns:
        """Return the table that a file holds: user, id, part, class, probability, and p0, p1, … of all classes."""
        table: Columns = {USER: np.arange(self.users)}
        if self.ids is not None:
            table["id"] = self.ids
        table["part"] = self.parts
        if self.several:
            table |= matrix_columns("label", self.classes)
        else:
            table |= {"class": self.classes, "probability": self.probability}
        return table | matrix_columns("p", self.probabilities)

    def save(self, path: str | Path) -> None:
        """Write the table as .csv or .parquet, and what is known of it, with the privacy record, beside it as PATH.json."""
        write_artefact(check_predictions_file(Path(path)), self.columns(), self.about(), record=True)

    @property
    def summary(self) -> str:
        """The number of users and the score of the test users, in words."""
        kind = "labels" if self.several else "classes"
        reached = "nobody tests"
        if self.score is not None:
            reached = f"{self.metric} {percent(self.score)} on {self.tested:,} test users"
        return f"{self.users:,} users, {self.probabilities.shape[1]} {kind}, {reached}"

    def __repr__(self) -> str:
        return f"Predictions({self.method} on {self.data}, seed {self.seed}: {self.summary})"


def check_predictions_file(file: Path) -> Path:
    """Return a file that predictions can be written to; reject any other before something is computed."""
    if record_file(file).is_dir():
        raise InputError(f"{record_file(file)} is a folder: name a file")
    return check_output(file, (PARQUET, CSV))


def predict(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    inside: Progress | None = None,
    **options: Any,
) -> Predictions:
    """Predict a class with its probability for every user, by one run of a method.

    Parameters
    ----------
    data, users
        The name or path of a dataset, a `Graph` with its `Users`, or PyG's Data.
    inside
        Called with the current step of the run and the share that is done.
    options
        Fields of `Experiment` that one run has: epsilon, mechanism, backbone, seed, settings and so on. With
        PyG's Data also the options of `from_pyg`: range, binary, split, label, ids.
    >>> predictions = predict("base", "town", epsilon=2.0, settings={"epochs": 3, "data.users": 400})
    >>> len(predictions), predictions.classes.shape, predictions.probabilities.shape
    (400, (400,), (400, 4))
    """
    spec, given = one_run_experiment(method, data, users, options, "predictions come")
    return predict_experiment(spec, inside=inside, given=given)


def predict_experiment(
    spec: Experiment, *, run: int = 0, inside: Progress | None = None, given: Given | None = None
) -> Predictions:
    """Return the predictions of one run of an experiment.

    Split, reports and model are those of `run_experiment`, bit for bit.

    Parameters
    ----------
    run
        The number of the run, from 0.
    inside
        Called with the current step of the run and the share that is done.
    given
        Graph and users, if these are objects.
    """
    check_predictions(spec, given)
    return predictions_of(*learn_unit(RunUnit(spec, run=run, given=given), inside))


def check_same_score(ready: OpenUnit, outcome: Outcome, score: float) -> None:
    """Raise an error if a repeated run has another score than the run had.

    Parameters
    ----------
    ready, outcome
        The repeated run, and what came of it.
    score
        The score that it had.
    """
    if ready.unit.spec.resolved_task.test_score(ready.graph, ready.users, outcome) != score:
        raise InputError(
            f"run {ready.unit.run} comes to another score than it had: data or code changed, run it again"
        )


def check_predictions(spec: Experiment, given: Given | None = None) -> None:
    """Reject an experiment that predicts no classes, before anything heavy is imported."""
    spec.check(given)
    if not spec.resolved_task.learns_labels:
        raise InputError(
            f"predictions are classes, and the task {spec.task} has none: take the task node, or embed"
        )


def predictions_of(
    ready: OpenUnit,
    outcome: Outcome,
    *,
    test: Mask | None = None,
    joined_from: int | None = None,
    **origin: Any,
) -> Predictions:
    """Return the outcome of a run as predictions; the users' side scores the test users.

    Parameters
    ----------
    test
        The test users, (n,) bool; by default those of the split.
    joined_from
        The first user who joined after the training; all later ones did too.
    origin
        The origin of the reports, as `about_run` takes it.
    """
    graph, budgets = ready.graph, ready.unit.spec.budgets
    judged = graph if test is None else replace(graph, test=test)
    rows, calibration = calibrated_rows(outcome, graph, private_labels=budgets.private_labels)
    parts = parts_of_split(graph)
    if joined_from is not None:
        parts[joined_from:] = JOINED
    tested = int(judged.test.sum())
    return Predictions(
        **about_run(ready, "predictions", **origin),
        metric=graph.metric,
        score=ready.users.evaluate(outcome.scores, judged) if tested else None,
        tested=tested,
        calibration=calibration,
        classes=predicted_classes(outcome, graph),
        probabilities=rows.astype(np.float32),
        parts=parts,
        ids=graph.ids,
    )


def calibrated_rows(
    outcome: Outcome, graph: Graph, *, private_labels: bool
) -> tuple[NDArray[np.float64], str]:
    """Return calibrated probabilities of all users, and a sentence about the calibration.

    One temperature is fitted on validation users; the rows of each half of them get the temperature of the
    other half. It does not change predicted classes. Nothing is calibrated if labels are private or fewer
    than two users validate.

    Parameters
    ----------
    outcome
        What a method learned, with scores, (n, classes) float32.
    graph
        The graph with the labels and the validation users that the server knows.
    private_labels
        Whether its labels are reports.
    """
    assert outcome.scores is not None
    wide = outcome.scores.astype(np.float64)
    if graph.multilabel:
        rows = 1 / (1 + np.exp(-wide))
    else:
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        rows = powers / powers.sum(axis=1, keepdims=True)
    judges = np.flatnonzero(graph.validation)
    if private_labels or len(judges) < 2:
        why = "labels are private" if private_labels else "too few users validate"
        return rows, f"not calibrated, as {why}: read probabilities as an order"
    warm, fitted = learn.calibrated(rows, graph.labels, np.zeros(graph.node_count), Group.alone(judges))
    (temperature,) = fitted.values
    return warm, f"calibrated by one temperature ({temperature:.3g}) on {len(judges):,} validation users"


def parts_of_split(graph: Graph) -> NDArray[np.str_]:
    """Return the part of the split that each user is in."""
    parts = np.full(graph.node_count, NO_PART, dtype="U10")
    for name in PARTS:
        parts[getattr(graph, name)] = name
    return parts


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding(Artefact):
    """A row of numbers for each user (n x h); ``reduced_from`` is the number of columns before a reduction."""

    ARRAYS: ClassVar[tuple[str, ...]] = ("values",)

    reduced_from: int | None
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != self.users:
            raise InputError(
                f"an embedding must have one row a user, {self.users}, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise InputError("an embedding must have finite numbers only: give a smaller learning rate (lr)")
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, int]:
        """The number of users and of columns."""
        rows, columns = self.values.shape
        return rows, columns

    def save(self, path: str | Path) -> None:
        """Write it as .npz or .parquet; `read_embedding` reads it back."""
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
    hints = get_type_hints(Embedding)
    types: dict[str, Any] = {
        each.name: (hints[each.name], ...) for each in fields(Embedding) if each.name != "values"
    }
    return Embedding(values=values, **dict(create_model("About", **types).model_validate(about)))


def embed(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Embedding:
    """Return the embedding that a method learns on a dataset.

    Parameters
    ----------
    data, users
        The name or path of a dataset, a `Graph` with its `Users`, or PyG's Data.
    dims
        The number of columns to reduce the embedding to, which costs no budget; all of them by default.
    inside
        Called with the current step of the run and the share that is done.
    options
        Fields of `Experiment` that one run has: epsilon, mechanism, backbone, task, seed, settings and so on.
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
    """Return the embedding of an experiment's first run.

    Split, reports and model are those of `run_experiment`.

    Parameters
    ----------
    dims
        The number of columns to reduce the embedding to; all of them by default.
    inside
        Called with the current step of the run and the share that is done.
    given
        Graph and users, if these are objects.
    map_file
        A file to draw a map of the rows into, with the classes that the server knew before anybody answered.
    """
    check_embedding(spec, dims, given)
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


def check_embedding(spec: Experiment, dims: int | None, given: Given | None = None) -> None:
    """Reject an experiment that cannot be embedded, before anything heavy is imported.

    Parameters
    ----------
    spec
        The experiment.
    dims
        The number of columns to reduce the embedding to; None for all of them.
    given
        Graph and users, if these are objects.
    """
    spec.check(given)
    if dims is not None:
        check_whole(dims, "--dims", least=1)


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
        raise InputError(f"{rows} x {columns} numbers cannot be reduced to {dims} dims: give at most {most}")
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
