"""What a method is: one way to learn from a graph and from what its users report.

Nothing here imports torch, so that a command can check its arguments before that; a method imports what it learns with
when it learns.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.mechanisms import entry
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.methods.norms import ReportedNorms, largest_norm
from graphveil.methods.questions import Questions
from graphveil.outside import Origin
from graphveil.privacy import Plan, Respondents
from graphveil.registry import Registry

# The backbones that a method can be asked for by name (graphveil.learn.BACKBONES holds them).
BACKBONE_NAMES = ("gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc", "mlp")
# What UPGNET searches for every method: powers of ten. Its dropout ends at 0.1; the larger ones are PPGNN's.
TRAINING_GRID: dict[str, tuple[Any, ...]] = {
    "lr": (1e-4, 1e-3, 1e-2, 1e-1),
    "weight_decay": (1e-4, 1e-3, 1e-2, 1e-1),
    "dropout": (1e-4, 1e-3, 1e-2, 1e-1, 0.25, 0.5, 0.75),
}
# What methods that average over hops search besides, from the documents; the scale of the input is ours.
HOPS_GRID: dict[str, tuple[Any, ...]] = {"hops": (0, 2, 4, 8, 16, 32, 64)}
SCALE_GRID: dict[str, tuple[Any, ...]] = {"input_share": (1 / 8, 1 / 4, 1 / 2, 2.0)}
# What is searched besides where labels are private.
LABEL_GRID: dict[str, tuple[Any, ...]] = {"drop_hops": (2, 4, 8, 16, 32)}
# Where an encoder learns to predict links: both its layers have so many columns, and it stops when it gets no better.
LINK_DEFAULTS: dict[str, Any] = {"hidden": 64, "epochs": 300, "patience": 50}
# Told what is being done and which share of it is done.
Progress = Callable[[str, float], None]
# What can be predicted: the classes of users, or links between them.
Task = Literal["node", "link"]
TASKS: tuple[Task, ...] = ("node", "link")
# A number for each pair of users, the higher the likelier linked.
PairScores = Callable[[NDArray[np.int64]], NDArray[Any]]


class Settings(BaseModel):
    """What every method that trains a backbone can be set to."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(500, ge=1, description="epochs at most")
    lr: float = Field(0.01, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(1e-3, ge=0, description="weight decay of Adam")
    patience: int | None = Field(
        None, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    hidden: int = Field(16, ge=1, description="columns of the hidden layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout before the second layer")
    activation: Literal["selu", "relu"] = Field("selu", description="selu or relu")
    label_loss: Literal["drop", "forward", "plain"] = Field(
        "drop",
        description="how to learn from private labels: drop (propagated, corrected), forward (corrected), plain",
    )
    drop_hops: int = Field(
        8, ge=0, description="how many hops private labels are propagated before they are learned"
    )

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Settings:
        """Settings from given values, or an error that names the wrong one and the choices."""
        try:
            return cls(**(given or {}))
        except ValidationError as error:
            problems = error.errors(include_url=False)
            problem = problems[0]
            choices = [other for other in problems if other["loc"][:1] == problem["loc"][:1]]
            # A setting that may be one of several kinds has a problem with each of them.
            several = len(choices) > 1 and all(isinstance(other["loc"][-1], str) for other in choices)
            key = ".".join(str(step) for step in problem["loc"][: 1 if several else None])
            if problem["type"] == "extra_forbidden":
                raise InputError(
                    f"there is no setting {key!r} here: choose from {', '.join(cls.model_fields)}"
                ) from None
            told = problem["msg"]
            if several:
                kinds = [other["msg"].split(",")[0].removeprefix("Input should be ") for other in choices]
                told = f"Input should be {', or '.join(kinds)}"
            raise InputError(f"setting {key}: {told}, got {problem['input']!r}") from None


@dataclass(frozen=True)
class Job:
    """Everything that a method is given for one run: the public graph, and users who answer plans and nothing else.

    ``seed`` is that of the run, from which users draw too: draw from streams of your own, as SeededWords(seed, 1, …) are.
    ``raw`` are the raw features, which the code that runs an experiment gives to a method that claims no privacy.
    """

    graph: Graph
    users: Respondents
    settings: Any
    seed: int
    # What the method asks: filled in before it begins.
    questions: Questions = field(default_factory=Questions)
    epsilon: float | None = None
    delta: float | None = None
    mechanism: str = "multibit"
    mechanism_options: dict[str, Any] = field(default_factory=dict)
    backbone: str = "gcn"
    label_epsilon: float | None = None
    link_epsilon: float | None = None
    link_mechanism: str = "link-rr"
    # Where every user chooses a privacy level: how many there are, their budgets, the share that hides the level.
    levels: int | None = None
    budgets: tuple[float, ...] | None = None
    gamma: float | None = None
    # How training and validation labels were randomized, where they are private.
    label_mechanism: LabelMechanism | None = None
    # Where the norms of feature rows are learned too: the budget of a report, what norms are known not to exceed (by
    # default what the public range allows), and the reports once they are there.
    norm_epsilon: float | None = None
    norm_bound: float | None = None
    norms: ReportedNorms | None = None
    raw: Any = None
    device: str = "cpu"
    max_memory: float | None = None
    progress: Progress | None = None

    @property
    def task(self) -> Task:
        """What is to be predicted: links where some are held out of the graph, else classes."""
        return "node" if self.graph.links is None else "link"

    @property
    def output_count(self) -> int:
        """Columns of what a model ends in: classes (and the norm, where it is learned too), or those of an embedding."""
        if self.task == "link":
            return int(self.settings.hidden)
        return self.graph.class_count + (self.norms is not None)

    def feature_plan(self, epsilon: float | None = None, **more: Any) -> Plan:
        """A question about features with the job's mechanism, budget (or a part of it) and the graph's public range."""
        graph = self.graph
        if graph.public_range is None:
            raise InputError(
                f"{graph.name} has no features to report: choose a method that needs none, like structure"
            )
        accepted = inspect.signature(entry(self.mechanism).build).parameters
        public = (graph.public_range.low, graph.public_range.high)
        known = {
            "dims": graph.feature_count,
            "range": public,
            "binary": self._binary(),
            "delta": self._delta_at(epsilon),
            "levels": self.levels,
        }
        asked = {key: value for key, value in known.items() if key in accepted and value is not None}
        budget = self.epsilon if epsilon is None else epsilon
        personal = {"budgets": self._budgets_at(budget), "gamma": self.gamma}
        chosen = {key: value for key, value in personal.items() if key in accepted and value is not None}
        options = {**chosen, **self.mechanism_options}
        # How many values are sampled, and whether they are binary, are fields of every plan; the rest is each mechanism's own.
        own = {"sampled": options.pop("sampled")} if "sampled" in options else {}
        options.pop("binary", None)
        options |= more.pop("options", {})
        return Plan(mechanism=self.mechanism, epsilon=budget, options=options, **{**asked, **more, **own})

    def _binary(self) -> bool | None:
        """Whether a mechanism is told that values are binary: where they are, unless the documents' continuous form is asked for.

        That is asked for by mechanism.binary=false, or by naming a number of input points.
        """
        options = self.mechanism_options
        told = options.get("binary", "points" not in options)
        if not isinstance(told, bool):
            raise InputError(f"mechanism.binary must be true or false, got {told!r}")
        if told and "binary" in options and not self.graph.binary:
            raise InputError(f"the values of {self.graph.name} are not binary: leave mechanism.binary out")
        return (self.graph.binary and told) or None

    def _budgets_at(self, epsilon: float | None) -> tuple[float, ...] | None:
        """The budgets of the levels in a question that spends this much of the strictest one."""
        if self.budgets is None or epsilon == self.epsilon:
            return self.budgets
        assert epsilon is not None and self.epsilon is not None
        return (epsilon, *(budget * (epsilon / self.epsilon) for budget in self.budgets[1:]))

    def _delta_at(self, epsilon: float | None) -> float | None:
        """The share of δ that goes with a share of ε."""
        if self.delta is None or epsilon is None or self.epsilon is None:
            return self.delta
        return self.delta * (epsilon / self.epsilon)

    def label_plan(self) -> Plan:
        """The question for the labels of training and validation users, by k-ary response."""
        graph = self.graph
        asked = np.flatnonzero(graph.train | graph.validation)
        return Plan(
            mechanism="krr",
            epsilon=self.label_epsilon,
            classes=graph.class_count,
            users=tuple(asked.tolist()),
        )

    @property
    def norm_plans(self) -> tuple[Plan, ...]:
        """The question for the norms of training and validation users' features, where norms are learned too."""
        if self.norm_epsilon is None:
            return ()
        graph = self.graph
        asked = np.flatnonzero(graph.train | graph.validation)
        bound = largest_norm(graph) if self.norm_bound is None else self.norm_bound
        plan = Plan(
            mechanism="piecewise",
            epsilon=self.norm_epsilon,
            of="norm",
            dims=1,
            range=(0.0, bound),
            users=tuple(asked.tolist()),
        )
        return (plan,)

    def link_plan(self) -> Plan:
        """The question for everybody's links."""
        return Plan(mechanism=self.link_mechanism, epsilon=self.link_epsilon, dims=self.graph.node_count)

    def with_private_labels(self) -> Job:
        """Ask for labels: the job as it goes on, with a graph that holds the answers for labels."""
        plan = self.questions.labels
        assert plan is not None
        labels = np.full(self.graph.node_count, UNKNOWN, dtype=np.int64)
        labels[np.array(plan.users)] = self.users.report(plan).codes
        built = plan.build()
        assert isinstance(built, LabelMechanism)
        return replace(self, graph=self.graph.with_labels(labels), label_mechanism=built)

    def with_norms(self) -> Job:
        """Ask for norms where they are learned too: the job as it goes on, with the answers."""
        job = self
        for plan in self.questions.norms:
            assert plan.range is not None and plan.users != "all"
            norms = ReportedNorms.of(self.users.report(plan), plan.users, self.graph.train, plan.range[1])
            job = replace(job, norms=norms)
        return job

    def say(self, what: str, share: float) -> None:
        """Report progress, if anybody listens."""
        if self.progress is not None:
            self.progress(what, share)


@dataclass(frozen=True)
class Outcome:
    """What a method learned, and how it did on what validates.

    ``scores`` are those of all classes for all users, and ``validation_score`` is the accuracy. Where links are predicted,
    ``pair_scores`` gives the score of any pair, and ``validation_score`` is the area under the curve. ``embedding`` is what
    was learned of each user on the way, a row each. Where norms of feature rows are learned too, ``norms`` are those predicted
    for all users, and ``constant_norm`` is one guess for everybody, the mean of what training users report.
    """

    scores: NDArray[np.float32] | None
    validation_loss: float
    validation_score: float
    seconds: dict[str, float]
    detail: str = ""
    pair_scores: PairScores | None = None
    embedding: NDArray[np.float32] | None = None
    norms: NDArray[np.float64] | None = None
    constant_norm: float | None = None


class Stopwatch:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds = {"report": 0.0, "denoise": 0.0, "train": 0.0}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start


class Method(ABC):
    """One file a method: subclass this, name it, and register an instance."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    # What is taken where nothing else is asked for.
    mechanism: ClassVar[str] = "multibit"
    backbone: ClassVar[str] = "gcn"
    settings: ClassVar[type[Settings]] = Settings
    # What `graphveil tune` searches, from the documents.
    grid: ClassVar[dict[str, tuple[Any, ...]]] = {}
    # What it searches besides where links are private.
    link_grid: ClassVar[dict[str, tuple[Any, ...]]] = {}
    # Settings that are better than the general ones on some data, by task: chosen on what validates there.
    tuned: ClassVar[dict[Task, dict[str, dict[str, Any]]]] = {"node": {}, "link": {}}
    # Whether features are reported, so that a budget is needed and a control can be run.
    reports_features: ClassVar[bool] = True
    # Whether links can be reported, so that a budget for them has a meaning.
    reports_links: ClassVar[bool] = False
    # Whether users may choose a privacy level each, where the mechanism has levels; and how many there are by default.
    reports_levels: ClassVar[bool] = False
    level_count: ClassVar[int] = 6
    # Whether norms of feature rows can be learned beside the classes: so by all that end in `train_backbone`.
    several_tasks: ClassVar[bool] = False
    # Whether raw features are read: such a method claims no privacy.
    reads_features: ClassVar[bool] = False

    @abstractmethod
    def learn(self, job: Job) -> Outcome:
        """Ask the users, learn, and return the scores of all users."""

    def holds_dense(self, settings: Any, task: Task) -> bool:
        """Whether a dense matrix of users x features is held; `check_method` sees to it that no other method does."""
        return False

    def defaults(self, data: str, task: Task, mechanism: str) -> dict[str, Any]:
        """Settings for this data, task and mechanism that are better than the general ones."""
        return {**(LINK_DEFAULTS if task == "link" else {}), **self.tuned[task].get(data, {})}

    def settings_for(self, given: dict[str, Any], data: str, task: Task, mechanism: str) -> Settings:
        """The settings of a run: those that are given, and for the rest the defaults."""
        known = self.defaults(data, task, mechanism)
        return self.settings.of({**known, **given})

    def prepare(self, job: Job) -> None:
        """Refuse, from public numbers, what cannot be done; before anybody is asked for anything."""
        return

    def begin(self, job: Job) -> Job:
        """Refuse what cannot be done, then ask for labels and norms where they have a budget: the job as it goes on."""
        check_task(self.name, job)
        job = self.with_questions(job)
        if job.norm_epsilon is not None:
            check_norms(self, job.task)
        self.prepare(job)
        if job.label_epsilon is not None:
            job = job.with_private_labels()
        return job.with_norms()

    def run(self, job: Job) -> Outcome:
        """Learn, from private labels where they have a budget."""
        return self.learn(self.begin(job))

    def embed(self, job: Job) -> NDArray[np.float32]:
        """A row of numbers for each user: what `run` learned on the way. A method that needs no labels for it overrides this."""
        embedding = self.run(job).embedding
        if embedding is None:
            other = "" if job.backbone in BACKBONE_NAMES else f", or {BACKBONE_NAMES[0]} for {job.backbone}"
            raise InputError(
                f"{self.name} has no embedding for the task {job.task}: take another task or another method, like base{other}"
            )
        return embedding

    def questions(self, job: Job) -> Questions:
        """All that this method will ask in this job; computed once, before anybody is asked."""
        return Questions(
            features=self.feature_plans(job),
            norms=job.norm_plans if self.reports_features else (),
            labels=None if job.label_epsilon is None else job.label_plan(),
            links=job.link_plan() if self.reports_links and job.link_epsilon is not None else None,
        )

    def with_questions(self, job: Job) -> Job:
        """The job with what this method asks, unless that has been computed."""
        return job if job.questions != Questions() else replace(job, questions=self.questions(job))

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        """The questions about features, round after round, as far as they are known before anybody has answered."""
        return (job.feature_plan(),) if self.reports_features else ()


def public_part(graph: Graph, *, private_labels: bool, private_links: bool) -> Graph:
    """What a server knows of a graph before anybody has answered: no labels or no links where these are private."""
    graph = graph.without_labels() if private_labels else graph
    return graph.without_edges() if private_links else graph


def check_task(name: str, job: Job) -> None:
    """Refuse a task that cannot be learned from what is known."""
    if job.task == "link":
        for what, epsilon in (("labels", job.label_epsilon), ("links", job.link_epsilon)):
            if epsilon is not None:
                raise InputError(
                    f"a budget for {what} has no meaning where links are predicted from known ones: leave it out"
                )
        return
    for part in ("train", "validation"):
        if not getattr(job.graph, part).any():
            raise InputError(f"{name} needs {part} users with a label: give the {part} split some")


def check_norms(method: Method, task: str) -> None:
    """Refuse norms of features beside a task or in a method that cannot learn them."""
    if task != "node":
        raise InputError(
            "norms of features are learned beside classes, not beside links: leave norm_epsilon out, or take the task node"
        )
    if not method.several_tasks:
        able = ", ".join(name for name, each in _methods.items() if each.several_tasks)
        raise InputError(
            f"{method.name} learns classes alone, so norm_epsilon has no meaning for it: leave it out, or take one of {able}"
        )


def _outside_method(name: str, found: Any) -> Method:
    """What was found in a file or a package, as a method: an instance, or a class that is made without arguments."""
    if isinstance(found, type) and issubclass(found, Method):
        try:
            found = found()
        except TypeError as error:
            raise InputError(f"{name} cannot be made without arguments: {error}") from None
    if not isinstance(found, Method):
        kind = found.__name__ if isinstance(found, type) else type(found).__name__
        raise InputError(
            f"{name} is no method but a {kind}: name a subclass of graphveil.methods.Method, or an instance of one"
        )
    check_named(found, name)
    return found


def check_named(method: Method, where: str) -> None:
    """Refuse a method that does not say what it is called."""
    told = getattr(method, "name", None)
    if not isinstance(told, str) or not told:
        raise InputError(f'{where} has no name: give its class one, like name = "mine"')


_methods = Registry["Method"]("method", group="graphveil.methods", adapt=_outside_method)
# Methods that were given as objects.
_given: dict[str, Method] = {}


def register_method(method: Method) -> Method:
    """Add a method to those that can be run by name."""
    _methods.add(method.name, method)
    return method


def method_names() -> list[str]:
    """The names of all registered methods, but for those of files."""
    return _methods.own()


def all_method_names(warn: Callable[[str], None]) -> list[str]:
    """The names of all methods, with those of installed packages; ``warn`` is told of what cannot be loaded."""
    return _methods.load_all(warn)


def find_method(name: str) -> Method:
    """The registered method of that name."""
    return _methods.find(name)


def load_method(name: str) -> Method:
    """The method of that name, from FILE.py:NAME or an installed package too, whose code is run."""
    return _methods.load(name)


def method_origin(name: str) -> Origin | None:
    """Where a method comes from; None for the library's own and for those registered by hand."""
    return _methods.origin(name)


def take_method(method: Any) -> str:
    """Register a method that is given as an object or a class, in the place of one that was so before; its name."""
    found = _outside_method(getattr(method, "__name__", type(method).__name__), method)
    if found.name in _given and _methods.holds(found.name, _given[found.name]):
        _methods.forget(found.name)
    _methods.add(found.name, found)
    _given[found.name] = found
    return found.name
