"""Model: what a run has trained, to be applied to users who join later; in memory and as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.experiments.artefacts import (
    PARTS,
    TENSORS,
    Predictions,
    check_predictions,
    check_same_score,
    predictions_of,
    read_artefact,
    write_artefact,
)
from graphveil.experiments.experiment import Experiment, Given
from graphveil.experiments.unit import OpenUnit, RunUnit, make_job, open_unit
from graphveil.files import check_output
from graphveil.graphs.divide import MAX_CLASSES
from graphveil.graphs.graph import UNKNOWN, Graph, Mask, labelled
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.mechanisms.rows import PublicRange
from graphveil.methods.job import Questions, TrainingOptions
from graphveil.methods.method import require
from graphveil.methods.tasks import TrainedBackbone
from graphveil.plugins import is_reference, plain_name
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.answering import Recorder, Replay
from graphveil.version import __version__


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A trained backbone with all that applies it again. It holds reports and known labels, and nothing else of users.

    Anybody who may see those may see the model.

    Parameters
    ----------
    seed
        The seed of its run.
    answers
        The plans of the training, each with its reports; users who join later answer those that ask everybody.
    training_graph
        The graph of the training as the server knew it, without its edges.
    collected
        Whether reports came from people's own devices. Else they were simulated from the seed.
    """

    spec: Experiment
    seed: int
    trained: TrainedBackbone
    answers: tuple[tuple[Plan, Reports], ...]
    training_graph: Graph
    collected: bool = False

    @property
    def users(self) -> int:
        """The number of users it was trained with."""
        return self.training_graph.node_count

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The questions that everybody is asked, including users who join later, in order."""
        return tuple(plan for plan, _ in self.answers if plan.users == "all")

    def predict(
        self, graph: Graph, joined: Users | Sequence[Reports] = (), *, seed: int | None = None
    ) -> Predictions:
        """Predict classes of all users of a graph that has grown since the training.

        Users who joined answer the same `plans`, once. Nobody is asked twice: the model holds the other
        users' reports.

        Parameters
        ----------
        graph
            The grown graph. Its first users are those of the training, in the same order.
        joined
            The reports to each plan of the users who joined, in the order of the graph; or, in a simulation,
            the `Users` of the whole graph, of whom those who joined are asked on fresh books.
        seed
            The seed of simulated answers; by default they are drawn from the operating system.
        """
        self._check(graph, seed)
        people = joined if isinstance(joined, Users) else None
        later = self._ask(joined, seed) if isinstance(joined, Users) else tuple(joined)
        count = graph.node_count
        answers = self._with_joined(later, count - self.users)
        method, unit = self.spec.resolved_method, RunUnit(self.spec, run=self.seed - self.spec.seed)
        with learn.one_thread():
            job = make_job(unit, method, self._grown(graph))
            raw = None
            if method.can.features == "raw":
                if people is None:
                    raise InputError(f"{method.name} reads raw features: give the users of the graph")
                raw = people.raw.rows()
            replay = Replay([reports for _, reports in answers])
            job = replace(job, users=replay, training=TrainingOptions(trained=self.trained), raw=raw)
            job = replace(job, questions=method.questions(job))
            outcome = method.run(job)
        answered = [_answered_by(plan, reports, count) for plan, reports in answers]
        anything = np.logical_or.reduce(answered)
        complete = all(reports.answered is None for _, reports in answers)
        ready = OpenUnit(
            unit,
            method,
            job.graph,
            people or Users(None, job.graph.labels),
            job,
            self._open_books(count, answered),
            raw is not None,
            # Who was asked by a collection and did not answer is not known here.
            None if self.collected or complete else anything,
            partial=self.collected and not anything.all(),
        )
        return predictions_of(
            ready,
            outcome,
            test=self._test_users(job.graph, people),
            joined_from=self.users,
            simulated=not self.collected or seed is not None,
            drawn=self._origin_of_reports(count - self.users, people, seed),
        )

    def _check(self, graph: Graph, seed: int | None) -> None:
        if graph.node_count < self.users:
            raise InputError(
                f"a grown graph begins with the {self.users} users of the training, got {graph.node_count}"
            )
        features = self.training_graph.feature_count
        if graph.feature_count not in (0, features):
            raise InputError(f"the model was trained on {features} features, got {graph.feature_count}")
        if seed == self.seed:
            raise InputError(
                f"seed must not be {self.seed}, the training's: the same noise twice could be undone"
            )

    def _grown(self, graph: Graph) -> Graph:
        """Return the graph that has grown, with what the server knew when the model was trained."""
        before, more = self.training_graph, graph.node_count - self.users
        unknown = np.full((more, *before.labels.shape[1:]), UNKNOWN, dtype=np.int64)
        split: dict[str, Any] = {
            name: np.append(getattr(before, name), np.zeros(more, dtype=bool)) for name in PARTS
        }
        labels = np.concatenate([before.labels, unknown])
        return replace(
            before, indptr=graph.indptr, indices=graph.indices, labels=labels, ids=graph.ids, **split
        )

    def _open_books(self, count: int, answered: Sequence[Mask]) -> Ledger:
        """Return what everybody has spent: each plan once, whenever it was answered. Of a collection, only those who answered."""
        claims = [plan.claim for plan, _ in self.answers]
        books = Ledger(count, sum(claim.epsilon for claim in claims), sum(claim.delta for claim in claims))
        for (plan, _), who in zip(self.answers, answered, strict=True):
            books.charge(plan.part(np.flatnonzero(who).tolist()) if self.collected else plan)
        return books

    def _ask(self, people: Users, seed: int | None) -> tuple[Reports, ...]:
        """Let those who joined answer on fresh books, each plan once."""
        joined = tuple(range(self.users, len(people)))
        plans = tuple(plan.model_copy(update={"users": joined}) for plan in self.plans) if joined else ()
        users = people.answering(Questions(features=plans).open_ledger(people), seed=seed)
        return tuple(users.report(plan) for plan in plans)

    def _with_joined(self, later: Sequence[Reports], count: int) -> list[tuple[Plan, Reports]]:
        """Return the answers of the training, with those of ``count`` users who joined behind them."""
        if count and len(later) != len(self.plans):
            raise InputError(
                f"{count} users have joined: give their reports to each of the {len(self.plans)} plans of the model (model.plans), or "
                f"the users of the graph; got {len(later)}"
            )
        rest, answers = iter(later), []
        for plan, reports in self.answers:
            if plan.users == "all" and (more := next(rest, None)) is not None:
                if more.asked != count:
                    raise InputError(f"{count} users have joined, and {more.asked} reports were given")
                if more.mechanism.fingerprint != reports.mechanism.fingerprint:
                    raise InputError("those who joined have answered another plan: ask model.plans")
                reports = _joined_reports(reports, more) if count else reports
            answers.append((plan, reports))
        return answers

    def _origin_of_reports(self, more: int, people: Users | None, seed: int | None) -> str:
        """Say whose reports come from where, if some users have joined: the first ones' may be simulated and the others' real."""
        if not more:
            return ""
        first = "came from devices" if self.collected else f"are simulated with seed {self.seed}"
        later = "came from outside"
        if people is not None:
            later = "are simulated without a seed" if seed is None else f"are simulated with seed {seed}"
        return f"Reports of the first {self.users:,} users {first}, those of the {more:,} who joined {later}"

    def _test_users(self, graph: Graph, people: Users | None) -> Mask:
        """Return those who joined and have a label; where nobody joined, those who tested before. Without users nobody tests."""
        if people is None:
            return np.zeros(graph.node_count, dtype=bool)
        if graph.node_count == self.users:
            return graph.test
        return labelled(people.raw.labels) & (np.arange(graph.node_count) >= self.users)

    def __repr__(self) -> str:
        return f"Model({self.spec.method} on {self.spec.data}, seed {self.seed}, trained with {self.users:,} users)"


def _answered_by(plan: Plan, reports: Reports, count: int) -> Mask:
    """Return who of so many users has answered a plan."""
    users = np.arange(count) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
    return np.isin(np.arange(count), users[reports.places])


def _joined_reports(first: Reports, second: Reports) -> Reports:
    """Return reports of those who were there, and of those who joined."""
    joined = Reports.join([replace(each, answered=None) for each in (first, second)])
    if first.answered is None and second.answered is None:
        return joined
    masks = [
        np.ones(each.users, dtype=bool) if each.answered is None else each.answered
        for each in (first, second)
    ]
    return replace(joined, answered=np.concatenate(masks))


def train_model(
    spec: Experiment, run: int = 0, given: Given | None = None, *, score: float | None = None
) -> Model:
    """Train the model of one run of an experiment: split, reports and weights are those of `run_experiment`.

    Parameters
    ----------
    run
        The number of the run, from 0.
    given
        Graph and users, if these are objects.
    score
        The score that the run had; a model with another score is rejected.
    """
    check_model(spec)
    with learn.one_thread():
        ready = open_unit(RunUnit(spec, run=run, given=given))
        recorder = Recorder(ready.job.users)
        outcome = ready.method.run(replace(ready.job, users=recorder, training=TrainingOptions(keep=True)))
    if score is not None:
        check_same_score(ready, outcome, score)
    if outcome.trained is None:
        raise InputError(f"{spec.method} has trained no backbone here: take another method, like base")
    graph = known_before(ready.job.graph)
    return Model(spec, spec.seed + run, outcome.trained, tuple(recorder.heard), graph)


def known_before(graph: Graph) -> Graph:
    """Return what a model keeps of the graph of its job: known labels and who trained, without links, rows and names."""
    return replace(graph.without_edges().without_panel(), recipe=None, ids=None)


def check_model(spec: Experiment) -> None:
    """Reject an experiment whose model cannot be applied to users who join later."""
    check_predictions(spec)
    require(spec.resolved_method, "new_users")
    if spec.budgets.private_links:
        raise InputError("a model is for public links: private ones would have to be reported anew")
    if spec.budgets.norm_epsilon is not None:
        raise InputError("a model predicts classes alone: leave --norm-epsilon out")


SAVED = "name a file that gv.save has written"
FORMAT = "graphveil-model-1"
ARRAYS = ("labels", *PARTS)
# What else is kept of the graph of the training.
DESCRIBED = ("name", "feature_count", "binary", "class_count", "metric")


def save(model: Model, path: str | Path) -> None:
    """Write a model to a .pt file, which `load_model` reads back."""
    import torch

    file = check_output(Path(path), (TENSORS,))
    check_saved(model.spec)
    graph, reports = model.training_graph, [reports for _, reports in model.answers]
    public = graph.public_range
    about = {
        "format": FORMAT,
        "version": __version__,
        # The graph is not loaded again, so that its name serves as well as where it came from.
        "spec": asdict(replace(model.spec, data=plain_name(model.spec.data))),
        "seed": model.seed,
        "collected": model.collected,
        "factor": model.trained.factor,
        "columns": model.trained.columns,
        "plans": [plan.to_json() for plan, _ in model.answers],
        "fingerprints": [each.mechanism.fingerprint for each in reports],
        "graph": {
            **{name: getattr(graph, name) for name in DESCRIBED},
            "range": None if public is None else [public.low, public.high],
        },
    }
    content = {
        "weights": dict(model.trained.weights),
        "arrays": {name: torch.from_numpy(np.array(getattr(graph, name))) for name in ARRAYS},
        "reports": [torch.from_numpy(np.array(bytearray(each.to_bytes()))) for each in reports],
        "answered": [
            None if each.answered is None else torch.from_numpy(each.answered.copy()) for each in reports
        ],
    }
    write_artefact(file, content, about)


def check_saved(spec: Experiment) -> None:
    """Reject a model that rests on code which no file of a model holds."""
    for name in (spec.method, spec.backbone, spec.budgets.mechanism):
        if is_reference(name):
            raise InputError(f"{name} is code of yours, which no file of a model holds: run the method again")


def load_model(path: str | Path) -> Model:
    """Read a model that `save` has written. Tensors and text alone are read: a file that holds anything else is refused."""
    return read_artefact(Path(path), "model", SAVED, _from_content)


def _from_content(content: dict[str, Any], about: dict[str, Any]) -> Model:
    if about["format"] != FORMAT:
        raise ValueError(about["format"])
    _refuse_code(about["spec"])
    spec = TypeAdapter(Experiment).validate_python(about["spec"]).resolved()
    check_model(spec)
    graph = _training_graph(about["graph"], content["arrays"])
    answers = []
    for text, message, who in zip(about["plans"], content["reports"], content["answered"], strict=True):
        plan = Plan.from_json(text)
        reports = Reports.from_bytes(message.numpy().tobytes(), plan.build())
        answers.append((plan, _answered(reports, plan, who, graph.node_count)))
    trained = TrainedBackbone(dict(content["weights"]), float(about["factor"]), int(about["columns"]))
    # Files that say nothing of it are of a time when all reports were simulated.
    collected = bool(about.get("collected", False))
    return Model(spec, int(about["seed"]), trained, tuple(answers), graph, collected)


def _refuse_code(spec: dict[str, Any]) -> None:
    """Reject names by which code would be loaded, before anything looks for them."""
    budgets = spec["budgets"]
    names = [spec["method"], spec["backbone"], spec["data"], budgets["mechanism"], budgets["link_mechanism"]]
    for name in names:
        if is_reference(name):
            raise InputError(f"it names {name}, which is code: nothing that a file names is run")


def _training_graph(about: dict[str, Any], tensors: dict[str, Any]) -> Graph:
    arrays = {name: tensors[name].numpy() for name in ARRAYS}
    users = len(arrays["labels"])
    classes = check_whole(about["class_count"], "class_count", least=0, most=MAX_CLASSES)
    _check_arrays(arrays, users, classes)
    return Graph(
        name=about["name"],
        indptr=np.zeros(users + 1, dtype=np.int64),
        indices=np.empty(0, dtype=np.int32),
        feature_count=check_whole(about["feature_count"], "feature_count", least=0),
        public_range=None if about["range"] is None else PublicRange.of(tuple(about["range"])),
        binary=bool(about["binary"]),
        class_count=classes,
        metric=about["metric"],
        **arrays,
    )


def _check_arrays(arrays: dict[str, Any], users: int, classes: int) -> None:
    """Reject labels that are no classes, and parts of a split that are not about the same users."""
    labels = arrays["labels"]
    if labels.dtype != np.int64 or labels.shape not in ((users,), (users, classes)):
        raise InputError(f"labels must be integers, one a user or {classes}")
    least, most = int(labels.min(initial=UNKNOWN)), int(labels.max(initial=UNKNOWN))
    if least < UNKNOWN or most >= (max(classes, 1) if labels.ndim == 1 else 2):
        raise InputError(f"labels must be those of {classes} classes, or {UNKNOWN}")
    for name in ARRAYS[1:]:
        if arrays[name].dtype != np.bool_ or arrays[name].shape != (users,):
            raise InputError(f"{name} must be True or False for each of {users} users")


def _answered(reports: Reports, plan: Plan, who: Any, users: int) -> Reports:
    """Return reports of those of a plan's users who have answered; ``who`` is None where all have."""
    asked = users if plan.users == "all" else len(plan.users)
    if plan.users != "all" and max(plan.users, default=0) >= users:
        raise InputError(f"a plan asks users that are not among the {users} of the model")
    if who is not None:
        mask = who.numpy()
        if mask.dtype != np.bool_ or mask.shape != (asked,):
            raise InputError(f"who has answered must be True or False for each of {asked} users")
        reports = replace(reports, answered=mask)
    if reports.users != len(reports.places) or reports.asked != asked:
        raise InputError(f"a plan asks {asked} users, and there are {reports.users} reports")
    return reports
