"""Predictions: a class with its probability for every user, and what it cost them; as a table and as a file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.experiment import DATA_PREFIX, Experiment, Given, take_data
from graphveil.experiments.table import csv_text, parquet_bytes
from graphveil.experiments.unit import Ready, learn_unit
from graphveil.files import write_whole
from graphveil.graphs.graph import Graph
from graphveil.graphs.group import Group
from graphveil.graphs.users import Users
from graphveil.methods.job import Progress
from graphveil.methods.outcome import Outcome
from graphveil.number_format import percent
from graphveil.privacy.record import artefact_statement
from graphveil.version import __version__


@dataclass(frozen=True, kw_only=True, eq=False)
class AboutRun:
    """Where an embedding or predictions come from.

    ``privacy`` is what the users' ledger says was spent, ``statement`` the same in words. ``settings`` are all of them, the
    defaults and the loader's too. ``edges`` counts the links that the server knew: those of training where links are predicted, and nothing
    where links are private.
    """

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
    privacy: dict[str, Any]
    statement: str


def about_run(
    spec: Experiment, ready: Ready, run: int, what: str, *, simulated: bool = True, drawn: str = ""
) -> dict[str, Any]:
    """The fields of `AboutRun` for what run ``run`` of a spec has made; ``what`` it is, in a word.

    Reports are ``simulated`` from the run's seed, unless devices have sent them; ``drawn`` says it where only some are.
    """
    privacy = ready.privacy()
    private_links = spec.budgets.link_epsilon is not None
    graph = ready.job.graph
    known = bool((graph.labels >= 0).any())
    public = [*(() if private_links else ("links",)), *(("known labels",) if known else ())]
    given = {**spec.settings, **{DATA_PREFIX + key: value for key, value in spec.data_options.items()}}
    # As a file gives them back: lists for tuples.
    settings = json.loads(json.dumps({**given, **spec.resolved_settings.model_dump()}, default=str))
    return {
        "method": spec.method,
        "data": spec.data,
        "task": spec.task,
        "epsilon": spec.budgets.epsilon,
        "mechanism": None if spec.budgets.epsilon is None else spec.budgets.mechanism,
        "backbone": spec.backbone,
        "seed": spec.seed + run,
        "settings": settings,
        "version": __version__,
        "users": graph.node_count,
        "edges": None if private_links else graph.edge_count,
        "privacy": privacy.to_dict(),
        "statement": artefact_statement(privacy, spec.seed + run if simulated else None, public, what, drawn),
    }


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
    if file.suffix == CSV:
        table = csv_text(columns, zip(*map(_cells, columns.values()), strict=True))
        write_whole(file, table.encode())
    else:
        write_whole(file, _parquet(columns, text))


def _cells(column: NDArray[Any]) -> list[Any]:
    """Numbers as they are, but for probabilities, which six digits tell well enough."""
    if column.dtype.kind == "f":
        return [f"{value:.6g}" for value in np.asarray(column, dtype=np.float64)]
    cells: list[Any] = column.tolist()
    return cells


def _parquet(columns: Columns, text: str) -> bytes:
    import pyarrow

    arrays = {
        name: pyarrow.array(column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column))
        for name, column in columns.items()
    }
    return parquet_bytes(arrays, {KEY: text.encode()})


# What part of the split a user is in, and what it is called where a user is in none.
PARTS, NO_PART = ("train", "validation", "test"), "none"
# Of several labels, those more likely than this are predicted.
HALF = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class AboutPredictions(AboutRun):
    """What is known of predictions besides the rows.

    ``score`` is what the users' side counts on its ``tested`` test users by the ``metric``; None where nobody tests.
    ``calibration`` says whether a probability is as sure as it is right, and by what.
    """

    metric: str
    score: float | None
    tested: int
    calibration: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictions(AboutPredictions):
    """What a method predicts for each of n users, one run of it. Nothing that users hold is in here, only what was learned.

    ``classes`` are the predicted classes (n integers), or 0 and 1 (n x labels) where a user may have several labels.
    ``probabilities`` are those of all classes or labels (n x C). ``parts`` says who trained, validated or tested ("train",
    "validation", "test", "none"). ``ids`` are what users are called elsewhere, where the graph has ids; else they are numbered.
    """

    classes: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    parts: NDArray[np.str_]
    ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for array in (self.classes, self.probabilities, self.parts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return self.users

    @property
    def several(self) -> bool:
        """Whether a user may have several labels."""
        return self.classes.ndim == 2

    @property
    def probability(self) -> NDArray[np.float32]:
        """How likely the predicted class of each user is (n numbers)."""
        if self.several:
            raise InputError("users have several labels each: look at probabilities, a column a label")
        chosen: NDArray[np.float32] = self.probabilities[np.arange(self.users), self.classes]
        return chosen

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table that a file holds, column by column: user, id, part, class, probability, and p0, p1, … of all classes."""
        table: dict[str, NDArray[Any]] = {"user": np.arange(self.users)}
        if self.ids is not None:
            table["id"] = self.ids
        table["part"] = self.parts
        if self.several:
            table |= {f"label{place}": column for place, column in enumerate(self.classes.T)}
        else:
            table |= {"class": self.classes, "probability": self.probability}
        return table | {f"p{place}": column for place, column in enumerate(self.probabilities.T)}

    def about(self) -> dict[str, Any]:
        """Everything but the rows."""
        return {each.name: getattr(self, each.name) for each in fields(AboutPredictions)}

    def save(self, path: str | Path) -> None:
        """Write the table as .csv or .parquet, and what is known of it, the privacy record above all, beside it as PATH.json."""
        write_predictions(Path(path), self.columns(), self.about())

    @property
    def summary(self) -> str:
        """How many users, and how well those who test were told apart."""
        told = "nobody tests" if self.score is None else ""
        told = told or f"{self.metric} {percent(self.score or 0.0)} on {self.tested:,} test users"
        kind = "labels" if self.several else "classes"
        return f"{self.users:,} users, {self.probabilities.shape[1]} {kind}, {told}"

    def __repr__(self) -> str:
        return f"Predictions({self.method} on {self.data}, seed {self.seed}: {self.summary})"


def predict(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    inside: Progress | None = None,
    **options: Any,
) -> Predictions:
    """A class with its probability for every user: one run of a method on a dataset, a graph with its users, or PyG's Data.

    Options are those fields of `Experiment` that one run has: epsilon, mechanism, backbone, seed, settings and so on. With PyG's Data those
    of `from_pyg` besides: range, binary, split, label, ids.

    >>> found = predict("base", "town", epsilon=2.0, settings={"epochs": 3, "data.users": 400})
    >>> len(found), found.classes.shape, found.probabilities.shape
    (400, (400,), (400, 4))
    """
    for name in ("runs", "control"):
        if name in options:
            raise InputError(f"predictions come from one run without a control: leave {name} out")
    name, given, options = take_data(data, users, options)
    return predict_experiment(Experiment.of(method, name, **options), inside=inside, given=given)


def predict_experiment(
    spec: Experiment, *, run: int = 0, inside: Progress | None = None, given: Given | None = None
) -> Predictions:
    """The predictions of run ``run`` of a spec: the same split, reports and model as `run_experiment` has there, bit for bit."""
    check_predictions(spec)
    if given is not None:
        spec.check_given(given[0])
    return predictions_of(spec, run, *learn_again(spec, run, given, inside))


def learn_again(
    spec: Experiment, run: int, given: Given | None, inside: Progress | None = None
) -> tuple[Ready, Outcome]:
    """What the method learns in one run, as `run_unit` runs it."""
    with learn.one_thread():
        return learn_unit(spec, "method", run, inside, given)


def check_same_score(spec: Experiment, run: int, ready: Ready, outcome: Outcome, score: float) -> None:
    """Refuse what was learned again, where it comes to another score than the run had."""
    if spec.resolved_task.test_score(ready.graph, ready.users, outcome) != score:
        raise InputError(
            f"run {run} comes to another score than it had: data or graphveil have changed since, so run it again"
        )


def check_predictions(spec: Experiment) -> None:
    """Refuse what predicts no classes, before anything heavy is imported."""
    spec.check()
    if not spec.resolved_task.learns_labels:
        raise InputError(
            f"predictions are classes of users, and the task {spec.task} predicts {spec.resolved_task.summary}: take the task node, or embed"
        )


def predictions_of(spec: Experiment, run: int, ready: Ready, outcome: Outcome) -> Predictions:
    """What a run has learned, as predictions; the users' side judges those who test."""
    graph = ready.graph
    rows, calibration = calibrated_rows(outcome, graph, private_labels=spec.budgets.private_labels)
    tested = int(graph.test.sum())
    return Predictions(
        **about_run(spec, ready, run, "predictions"),
        metric=graph.metric,
        score=ready.users.evaluate(outcome.scores, graph) if tested else None,
        tested=tested,
        calibration=calibration,
        classes=predicted_classes(outcome, several=graph.multilabel),
        probabilities=rows.astype(np.float32),
        parts=parts_of_split(graph),
        ids=graph.ids,
    )


def predicted_classes(outcome: Outcome, *, several: bool) -> NDArray[np.int64]:
    """The likeliest class of each user, or for each label whether it is likelier than not, as a score counts them."""
    assert outcome.scores is not None
    chosen = outcome.scores > 0 if several else outcome.scores.argmax(axis=1)
    return np.asarray(chosen, dtype=np.int64)


def calibrated_rows(
    outcome: Outcome, graph: Graph, *, private_labels: bool
) -> tuple[NDArray[np.float64], str]:
    """Probabilities of all users, and what made them as sure as they are right.

    One temperature, fitted on validation users, whose own rows have that of the other half of them. It changes no class.
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
    """Which part of the split each user is in."""
    parts = np.full(graph.node_count, NO_PART, dtype="U10")
    for name in PARTS:
        parts[getattr(graph, name)] = name
    return parts
