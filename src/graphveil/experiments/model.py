"""Model: what a run has trained, to be applied to users who join later; in memory and as a file."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.experiment import Experiment, Given
from graphveil.experiments.predictions import (
    Predictions,
    about_run,
    calibrated_rows,
    check_predictions,
    check_same_score,
    parts_of_split,
    predicted_classes,
)
from graphveil.experiments.unit import Ready, make_job, make_ready
from graphveil.files import write_whole
from graphveil.graphs.divide import MAX_CLASSES
from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.mechanisms.rows import PublicRange
from graphveil.methods import find_method, method_names
from graphveil.methods.outcome import Outcome, Trained
from graphveil.methods.questions import Questions
from graphveil.outside import is_reference, plain_name
from graphveil.privacy import Ledger, Plan, Respondents
from graphveil.version import __version__

# What users are called who were not there when the model was trained.
JOINED = "joined"


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that was asked while a model was trained, and what was reported."""

    plan: Plan
    reports: Reports


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A trained backbone with all that applies it again: its spec, the questions with their reports, and what the server knew.

    ``seed`` is that of its run. ``before`` is the graph that it was trained on as the server knew it, without its edges. It holds
    reports and known labels, and nothing else of users: whoever may see those may see the model. Its reports were ``collected`` from
    people's own devices, or else simulated from the seed.
    """

    spec: Experiment
    seed: int
    trained: Trained
    asked: tuple[Asked, ...]
    before: Graph
    collected: bool = False

    @property
    def users(self) -> int:
        """How many users it was trained with."""
        return self.before.node_count

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What everybody is asked, those who join later too, in this order."""
        return tuple(asked.plan for asked in self.asked if asked.plan.users == "all")

    def predict(
        self, graph: Graph, joined: Users | Sequence[Reports] = (), *, seed: int | None = None
    ) -> Predictions:
        """Classes of all users of a graph that has grown: its first users are those of the training, in the same order.

        Whoever joined answers the same `plans`, once. ``joined`` is where their answers come from: reports to each plan of those who joined, in
        the order of the graph; or, in a simulation, the `Users` of the whole graph, of whom those who joined are asked on fresh
        books, drawing from a ``seed`` of their own or from the operating system. Nobody is asked twice: what the others reported is in the model.
        """
        self._check(graph, seed)
        people = joined if isinstance(joined, Users) else None
        later = self._ask(joined, seed) if isinstance(joined, Users) else tuple(joined)
        count = graph.node_count
        answering = _Answers(self.asked, later, count - self.users)
        method = self.spec.resolved_method
        with learn.one_thread():
            job = make_job(self.spec, "method", method, self._known(graph), self.seed, None)
            raw = None
            if method.reads_features:
                if people is None:
                    raise InputError(f"{method.name} reads raw features: give the users of the graph")
                raw = people.raw.rows()
            job = replace(job, users=answering, trained=self.trained, raw=raw)
            job = replace(job, questions=method.questions(job))
            outcome = method.run(job)
        came, judges = answering.who(count), people or Users(None, job.graph.labels)
        ready = Ready(
            method,
            job.graph,
            judges,
            job,
            self._books(count, came),
            raw is not None,
            # Who was asked by a collection and did not answer is not known here.
            None if self.collected or answering.complete else np.logical_or.reduce(came),
            partial=self.collected and not np.logical_or.reduce(came).all(),
        )
        simulated = not self.collected or seed is not None
        drawn = self._drawn(count - self.users, people, seed)
        return self._predictions(ready, outcome, people, simulated=simulated, drawn=drawn)

    def _check(self, graph: Graph, seed: int | None) -> None:
        if graph.node_count < self.users:
            raise InputError(
                f"the model was trained with {self.users} users and this graph has {graph.node_count}: give a graph that has grown, its first "
                "users those of the training"
            )
        if graph.feature_count not in (0, self.before.feature_count):
            raise InputError(
                f"the model was trained on {self.before.feature_count} features and this graph has {graph.feature_count}: give the same ones"
            )
        if seed == self.seed:
            raise InputError(
                f"seed must not be {self.seed}, from which the first users have drawn: the same noise twice could be undone"
            )

    def _known(self, graph: Graph) -> Graph:
        """The graph that has grown, with what the server knew when the model was trained."""
        before, more = self.before, graph.node_count - self.users
        nobody: Mask = np.zeros(more, dtype=bool)
        unknown = np.full((more, *before.labels.shape[1:]), UNKNOWN, dtype=np.int64)
        return replace(
            before,
            indptr=graph.indptr,
            indices=graph.indices,
            labels=np.concatenate([before.labels, unknown]),
            train=np.concatenate([before.train, nobody]),
            validation=np.concatenate([before.validation, nobody]),
            test=np.concatenate([before.test, nobody]),
            ids=graph.ids,
        )

    def _books(self, count: int, came: Sequence[Mask]) -> Ledger:
        """What everybody has spent: each question once, whenever it was asked. Of a collection, whoever has answered it."""
        claims = [each.plan.claim for each in self.asked]
        budget = (sum(claim.epsilon for claim in claims), sum(claim.delta for claim in claims))
        books = Ledger(count, *budget)
        for each, who in zip(self.asked, came, strict=True):
            books.charge(each.plan.part(np.flatnonzero(who).tolist()) if self.collected else each.plan)
        return books

    def _to_joined(self, count: int) -> tuple[Plan, ...]:
        """The plans, of those alone who joined."""
        joined = tuple(range(self.users, count))
        return tuple(plan.model_copy(update={"users": joined}) for plan in self.plans) if joined else ()

    def _ask(self, people: Users, seed: int | None) -> tuple[Reports, ...]:
        """Those who joined answer on fresh books, each question once."""
        plans = self._to_joined(len(people))
        users = people.answering(Questions(features=plans).open_ledger(people), seed=seed)
        return tuple(users.report(plan) for plan in plans)

    def _drawn(self, more: int, people: Users | None, seed: int | None) -> str:
        """Whose reports come from where, if some users have joined: the first ones' may be simulated and the others' real."""
        if not more:
            return ""
        first = "came from devices" if self.collected else f"are simulated with seed {self.seed}"
        later = "came from outside"
        if people is not None:
            later = "are simulated without a seed" if seed is None else f"are simulated with seed {seed}"
        return f"Reports of the first {self.users:,} users {first}, those of the {more:,} who joined {later}"

    def _predictions(
        self, ready: Ready, outcome: Outcome, people: Users | None, *, simulated: bool, drawn: str
    ) -> Predictions:
        graph = ready.job.graph
        private = self.spec.budgets.private_labels
        rows, calibration = calibrated_rows(outcome, graph, private_labels=private)
        parts = parts_of_split(graph)
        parts[self.users :] = JOINED
        judged = self._judged(graph, people)
        tested = int(judged.test.sum())
        return Predictions(
            **about_run(
                self.spec, ready, self.seed - self.spec.seed, "predictions", simulated=simulated, drawn=drawn
            ),
            metric=graph.metric,
            score=people.evaluate(outcome.scores, judged) if people is not None and tested else None,
            tested=tested if people is not None else 0,
            calibration=calibration,
            classes=predicted_classes(outcome, several=graph.multilabel),
            probabilities=rows.astype(np.float32),
            parts=parts,
            ids=graph.ids,
        )

    def _judged(self, graph: Graph, people: Users | None) -> Graph:
        """Those who joined test, where some have a label; else those who tested before."""
        if people is None or graph.node_count == self.users:
            return graph
        labels = people.raw.labels
        labelled = labels >= 0 if labels.ndim == 1 else (labels >= 0).all(axis=1)
        return replace(graph, test=labelled & (np.arange(graph.node_count) >= self.users))

    def __repr__(self) -> str:
        return f"Model({self.spec.method} on {self.spec.data}, seed {self.seed}, trained with {self.users:,} users)"


class _Recorder:
    """Users who answer as usual while questions and reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users, self.asked = users, list[Asked]()

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember the answer."""
        reports = self._users.report(plan)
        self.asked.append(Asked(plan, reports))
        return reports


class _Answers:
    """What was reported when the model was trained, and by those who joined: the same questions, whatever is asked now."""

    def __init__(self, asked: Sequence[Asked], later: Sequence[Reports], count: int) -> None:
        whole = [each for each in asked if each.plan.users == "all"]
        if count and len(later) != len(whole):
            raise InputError(
                f"{count} users have joined: give their reports to each of the {len(whole)} plans of the model (model.plans), or the "
                f"users of the graph; got {len(later)}"
            )
        for each, reports in zip(whole, later, strict=False):
            if reports.asked != count:
                raise InputError(f"{count} users have joined, and {reports.asked} reports were given")
            if reports.mechanism.fingerprint != each.reports.mechanism.fingerprint:
                raise InputError(
                    "those who joined have answered another plan: ask them model.plans, in that order"
                )
        rest = iter(later)
        self._answers = [
            _longer(each.reports, next(rest)) if count and each.plan.users == "all" else each.reports
            for each in asked
        ]
        self._all = [(each.plan, answers) for each, answers in zip(asked, self._answers, strict=True)]

    @property
    def complete(self) -> bool:
        """Whether everybody who was asked has answered."""
        return all(reports.answered is None for _, reports in self._all)

    def who(self, count: int) -> list[Mask]:
        """Who of so many users has answered each question."""
        masks = []
        for plan, reports in self._all:
            users = np.arange(count) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
            masks.append(np.isin(np.arange(count), users[reports.places]))
        return masks

    def report(self, plan: Plan) -> Reports:
        """The next of the answers."""
        return self._answers.pop(0)


def _longer(first: Reports, second: Reports) -> Reports:
    """Reports of those who were there, and of those who joined."""
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
    """The model of one run of a spec: the same split, reports and weights as `run_experiment` has there.

    Where the run had a ``score``, a model that comes to another one is refused.
    """
    check_model(spec)
    with learn.one_thread():
        ready = make_ready(spec, "method", run, None, given)
        recorder = _Recorder(ready.job.users)
        outcome = ready.method.run(replace(ready.job, users=recorder, keep_trained=True))
    if score is not None:
        check_same_score(spec, run, ready, outcome, score)
    if outcome.trained is None:
        raise InputError(
            f"{spec.method} has trained no backbone here, so there is no model: take another method, like base"
        )
    return Model(spec, spec.seed + run, outcome.trained, tuple(recorder.asked), known_before(ready.job.graph))


def known_before(graph: Graph) -> Graph:
    """What a model keeps of the graph of its job: known labels and who trained, without links, rows and names."""
    return replace(graph.without_edges().without_panel(), recipe=None, ids=None)


def _applicable() -> list[str]:
    """The methods whose models can be applied to users who join later."""
    return [name for name in method_names() if find_method(name).applies_later]


def check_model(spec: Experiment) -> None:
    """Refuse what cannot be applied to users who join later."""
    check_predictions(spec)
    method = spec.resolved_method
    if not method.applies_later:
        raise InputError(
            f"{method.name} {method.not_later}, so there is no model of it: take {', '.join(_applicable())}, or run {method.name} again "
            "when people have joined"
        )
    if spec.budgets.private_links:
        raise InputError(
            "where links are private, a graph that has grown would have to be reported anew: a model is for public links"
        )
    if spec.budgets.norm_epsilon is not None:
        raise InputError("a model predicts classes alone: leave norm_epsilon out")


SAVED = "name a file that gv.save has written"
FORMAT, SUFFIX = "graphveil-model-1", ".pt"
# What is raised where a file is something else, or does not fit itself.
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OverflowError, RecursionError)
ARRAYS = ("labels", "train", "validation", "test")


def save(model: Model, path: str | Path) -> None:
    """Write a model to a .pt file, which `load_model` brings back."""
    import torch

    file = Path(path)
    if file.suffix != SUFFIX or not file.parent.is_dir() or file.is_dir():
        raise InputError(
            f"{file} cannot be written: name a file that ends in {SUFFIX} in a folder that is there"
        )
    check_saved(model.spec)
    # The graph is not loaded again, so that its name serves as well as where it came from.
    spec = replace(model.spec, data=plain_name(model.spec.data))
    before = model.before
    public = before.public_range
    about = {
        "format": FORMAT,
        "version": __version__,
        "spec": asdict(spec),
        "seed": model.seed,
        "collected": model.collected,
        "factor": model.trained.factor,
        "columns": model.trained.columns,
        "plans": [each.plan.to_json() for each in model.asked],
        "fingerprints": [each.reports.mechanism.fingerprint for each in model.asked],
        "graph": {
            "name": before.name,
            "feature_count": before.feature_count,
            "range": None if public is None else [public.low, public.high],
            "binary": before.binary,
            "class_count": before.class_count,
            "metric": before.metric,
        },
    }
    content = {
        "about": json.dumps(about, default=str),
        "weights": dict(model.trained.weights),
        "arrays": {name: torch.from_numpy(np.array(getattr(before, name))) for name in ARRAYS},
        "reports": [_bytes(each.reports.to_bytes()) for each in model.asked],
        "answered": [
            None if (who := each.reports.answered) is None else torch.from_numpy(who.copy())
            for each in model.asked
        ],
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(file, buffer.getvalue())


def check_saved(spec: Experiment) -> None:
    """Refuse a model that rests on code which no file of a model holds."""
    for name in (spec.method, spec.backbone, spec.budgets.mechanism):
        if is_reference(name):
            raise InputError(
                f"{name} is code of yours, which no file of a model holds: keep the model in memory, or run the method again"
            )


def load_model(path: str | Path) -> Model:
    """A model that `save` has written. Tensors and text alone are read: a file that holds anything else is refused."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file} is not there: {SAVED}")
    content = learn.read_tensors(file, "model", SAVED, "cpu")
    try:
        about = json.loads(content["about"])
        if about["format"] != FORMAT:
            raise ValueError(about["format"])
        _refuse_code(about["spec"])
        spec = TypeAdapter(Experiment).validate_python(about["spec"]).resolved()
        check_model(spec)
        return _model(spec, about, content)
    except (GraphveilError, ValidationError) as error:
        raise InputError(f"{file} holds no model that can be used: {str(error).splitlines()[0]}") from None
    except DAMAGED:
        raise InputError(f"{file} holds no model: {SAVED}") from None


def _refuse_code(spec: dict[str, Any]) -> None:
    """Refuse names by which code would be loaded, before anything looks for them."""
    budgets = spec["budgets"]
    names = [spec["method"], spec["backbone"], spec["data"], budgets["mechanism"], budgets["link_mechanism"]]
    for name in names:
        if is_reference(name):
            raise InputError(f"it names {name}, which is code: nothing that a file names is run")


def _model(spec: Experiment, about: dict[str, Any], content: dict[str, Any]) -> Model:
    arrays = {name: content["arrays"][name].numpy() for name in ARRAYS}
    told, users = about["graph"], len(arrays["labels"])
    classes = check_whole(told["class_count"], "class_count", least=0, most=MAX_CLASSES)
    _check_arrays(arrays, users, classes)
    public = None if told["range"] is None else PublicRange.of(tuple(told["range"]))
    before = Graph(
        name=told["name"],
        indptr=np.zeros(users + 1, dtype=np.int64),
        indices=np.empty(0, dtype=np.int32),
        feature_count=check_whole(told["feature_count"], "feature_count", least=0),
        public_range=public,
        binary=bool(told["binary"]),
        class_count=classes,
        metric=told["metric"],
        **arrays,
    )
    asked = []
    for plan, message, who in zip(about["plans"], content["reports"], content["answered"], strict=True):
        whole = Plan.from_json(plan)
        reports = Reports.from_bytes(message.numpy().tobytes(), whole.build())
        asked.append(Asked(whole, _answered(reports, whole, who, users)))
    trained = Trained(dict(content["weights"]), float(about["factor"]), int(about["columns"]))
    # Files that say nothing of it are of a time when all reports were simulated.
    collected = bool(about.get("collected", False))
    return Model(spec, int(about["seed"]), trained, tuple(asked), before, collected)


def _check_arrays(arrays: dict[str, Any], users: int, classes: int) -> None:
    """Refuse labels that are no classes, and parts of a split that are not about the same users."""
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
    """Reports of those of a plan's users who have answered; ``who`` is None where all have."""
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


def _bytes(message: bytes) -> Any:
    import torch

    return torch.frombuffer(bytearray(message), dtype=torch.uint8)
