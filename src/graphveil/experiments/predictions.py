"""Predictions: a class with its probability for every user, and what it cost them; as a table and as a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.artefacts import (
    CSV,
    PARQUET,
    USER,
    Artefact,
    Columns,
    about_run,
    matrix_columns,
    one_run_experiment,
    record_file,
    write_artefact,
)
from graphveil.experiments.experiment import Experiment, Given
from graphveil.experiments.unit import OpenUnit, RunUnit, learn_unit
from graphveil.files import check_output
from graphveil.graphs.graph import Graph, Mask
from graphveil.graphs.part import Group
from graphveil.graphs.users import Users
from graphveil.methods.job import Progress
from graphveil.methods.tasks import Outcome
from graphveil.number_format import percent


def check_predictions_file(file: Path) -> Path:
    """Return a file that predictions can be written to; reject any other before something is computed."""
    if record_file(file).is_dir():
        raise InputError(f"{record_file(file)} is a folder: name a file")
    return check_output(file, (PARQUET, CSV))


# What part of the split a user is in: in none, or joined after the training, where it is none of the three.
PARTS, NO_PART, JOINED = ("train", "validation", "test"), "none", "joined"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictions(Artefact):
    """What a method predicts for each of n users in one run. It holds what was learned, and nothing that users hold.

    Parameters
    ----------
    metric, score, tested
        The score that the users' side counts on its ``tested`` test users; None where nobody tests.
    calibration
        Whether a probability is as sure as it is right, and by what.
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
        """How likely the predicted class of each user is (n numbers)."""
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
        """How many users there are, and the score of those who test."""
        kind = "labels" if self.several else "classes"
        reached = "nobody tests"
        if self.score is not None:
            reached = f"{self.metric} {percent(self.score)} on {self.tested:,} test users"
        return f"{self.users:,} users, {self.probabilities.shape[1]} {kind}, {reached}"

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
    """Predict a class with its probability for every user, by one run of a method on a dataset, a graph with its users, or PyG's Data.

    Options are those fields of `Experiment` that one run has: epsilon, mechanism, backbone, seed, settings and so on. With PyG's Data those
    of `from_pyg` besides: range, binary, split, label, ids.

    >>> predictions = predict("base", "town", epsilon=2.0, settings={"epochs": 3, "data.users": 400})
    >>> len(predictions), predictions.classes.shape, predictions.probabilities.shape
    (400, (400,), (400, 4))
    """
    spec, given = one_run_experiment(method, data, users, options, "predictions come")
    return predict_experiment(spec, inside=inside, given=given)


def predict_experiment(
    spec: Experiment, *, run: int = 0, inside: Progress | None = None, given: Given | None = None
) -> Predictions:
    """Return the predictions of run ``run`` of an experiment: split, reports and model are those of `run_experiment`, bit for bit."""
    check_predictions(spec)
    if given is not None:
        spec.check_given(given[0])
    return predictions_of(*learn_again(spec, run, given, inside))


def learn_again(
    spec: Experiment, run: int, given: Given | None, inside: Progress | None = None
) -> tuple[OpenUnit, Outcome]:
    """Return what the method learns in one run, as `run_unit` runs it."""
    with learn.one_thread():
        return learn_unit(RunUnit(spec, run=run, given=given), inside)


def check_same_score(ready: OpenUnit, outcome: Outcome, score: float) -> None:
    """Reject what was learned again where its score is not that of the run."""
    if ready.unit.spec.resolved_task.test_score(ready.graph, ready.users, outcome) != score:
        raise InputError(
            f"run {ready.unit.run} comes to another score than it had: data or graphveil have changed since, so run it again"
        )


def check_predictions(spec: Experiment) -> None:
    """Reject an experiment that predicts no classes, before anything heavy is imported."""
    spec.check()
    if not spec.resolved_task.learns_labels:
        raise InputError(
            f"predictions are classes of users, and the task {spec.task} predicts {spec.resolved_task.summary}: take the task node, or embed"
        )


def predictions_of(
    ready: OpenUnit,
    outcome: Outcome,
    *,
    test: Mask | None = None,
    joined_from: int | None = None,
    **origin: Any,
) -> Predictions:
    """Return what a run has learned as predictions; the users' side judges those who test.

    ``test`` are those who test, where it is not the split that says so. Users from ``joined_from`` on have joined since the training.
    ``origin`` says where reports come from, as `about_run` takes it.
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
        classes=predicted_classes(outcome, several=graph.multilabel),
        probabilities=rows.astype(np.float32),
        parts=parts,
        ids=graph.ids,
    )


def predicted_classes(outcome: Outcome, *, several: bool) -> NDArray[np.int64]:
    """Return the likeliest class of each user, or for each label whether it is likelier than not, as a score counts them."""
    assert outcome.scores is not None
    chosen = outcome.scores > 0 if several else outcome.scores.argmax(axis=1)
    return np.asarray(chosen, dtype=np.int64)


def calibrated_rows(
    outcome: Outcome, graph: Graph, *, private_labels: bool
) -> tuple[NDArray[np.float64], str]:
    """Return probabilities of all users, and what made them as sure as they are right.

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
    """Return the part of the split that each user is in."""
    parts = np.full(graph.node_count, NO_PART, dtype="U10")
    for name in PARTS:
        parts[getattr(graph, name)] = name
    return parts
