"""What a method is: one way to learn from a graph and from what its users report; its settings and backbones by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil import denoise, learn
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import DividedEdges, no_known_links
from graphveil.graphs.part import GraphPart
from graphveil.methods.job import Job, Questions
from graphveil.methods.tasks import Outcome, find_task
from graphveil.plugins import Origin, Registry, digest, is_reference, package, plugins, unknown_name
from graphveil.privacy import Plan

# Where installed packages offer theirs.
GROUP = "graphveil.backbones"


def check_backbone(name: str) -> None:
    """Refuse a name that no backbone has. One of the library's own is found without torch; others are loaded."""
    if name in BACKBONE_NAMES:
        return
    if is_reference(name) or name in plugins(GROUP):
        learn.BACKBONES.load(name)
        return
    raise unknown_name("backbone", name, [*BACKBONE_NAMES, *plugins(GROUP)])


def backbone_digest(name: str) -> str | None:
    """What the numbers of a backbone from outside depend on; None for the library's own."""
    if name in BACKBONE_NAMES:
        return None
    if is_reference(name):
        return digest(name)
    point = plugins(GROUP).get(name)
    return None if point is None else package(point).digest


# What a setting says that leaves the choice open.
AUTO: Final = "auto"
# The backbones that a method can be asked for by name (graphveil.learn.BACKBONES holds them).
BACKBONE_NAMES = ("gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc", "mlp")
# All that UPGNET, PPGNN and TOGL search in training, put together: each has powers of ten of its own, PPGNN the larger
# dropouts, PPGNN and TOGL no dropout and no weight decay. PPGNN's learning rate of 0 is left out: it learns nothing.
TRAINING_GRID: dict[str, tuple[Any, ...]] = {
    "lr": (1e-4, 1e-3, 1e-2, 1e-1),
    "weight_decay": (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    "dropout": (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.25, 0.5, 0.75),
}
# What methods that average over hops search besides: UPGNET's, of which PPGNN takes those up to 16.
HOPS_GRID: dict[str, tuple[Any, ...]] = {"hops": (0, 2, 4, 8, 16, 32, 64)}
# What is searched besides where labels are private.
LABEL_GRID: dict[str, tuple[Any, ...]] = {"drop_hops": (2, 4, 8, 16, 32)}
# What is searched besides where users choose a privacy level: PPGNN's γ, an option of its mechanisms.
LEVEL_GRID: dict[str, tuple[Any, ...]] = {"mechanism.gamma": (0.1, 0.3, 0.5, 0.7, 0.9)}


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
            message = problem["msg"]
            if several:
                kinds = [other["msg"].split(",")[0].removeprefix("Input should be ") for other in choices]
                message = f"Input should be {', or '.join(kinds)}"
            raise InputError(f"setting {key}: {message}, got {problem['input']!r}") from None


class ScaledSettings(Settings):
    """Training of a network on reports, and the scale of its input."""

    # The smallest share that is tried, by which nothing is learned by heart on graphs with few reports a feature.
    least_share: ClassVar[float] = 1 / 8

    input_share: Annotated[float, Field(gt=0)] | Literal["auto"] = Field(
        "auto",
        description="expected norm of an input row, as a share of the root of the number of features; auto: 1/8, 2 or 8, "
        "whichever has the lowest validation loss",
    )

    @property
    def share(self) -> float:
        """The share that an input is made with."""
        return self.least_share if self.input_share == AUTO else self.input_share


# Backbones that pass messages by products with a sparse matrix alone, or pass none.
BY_PRODUCTS = ("gcn", "sage", "gin", "appnp", "sgc", "ssgc", "mlp")


class Method(ABC):
    """One file a method: subclass this, name it, and register an instance."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    # What is taken where nothing else is asked for.
    mechanism: ClassVar[str] = "multibit"
    backbone: ClassVar[str] = "gcn"
    link_mechanism: ClassVar[str] = "link-rr"
    settings: ClassVar[type[Settings]] = Settings
    # What `graphveil tune` searches: what the documents search, and what is ours.
    grid: ClassVar[dict[str, tuple[Any, ...]]] = {}
    # What it searches besides where links are private.
    link_grid: ClassVar[dict[str, tuple[Any, ...]]] = {}
    # Settings that are better than the general ones on some data, by task: chosen on what validates there.
    tuned: ClassVar[dict[str, dict[str, dict[str, Any]]]] = {"node": {}, "link": {}}
    # Settings that are options of the mechanism for links, by the same names, besides which links are private.
    link_settings: ClassVar[tuple[str, ...]] = ()
    # Whether features are reported, so that a budget is needed and a control can be run.
    reports_features: ClassVar[bool] = True
    # Whether users may choose a privacy level each, where the mechanism has levels; and how many there are by default.
    reports_levels: ClassVar[bool] = False
    level_count: ClassVar[int] = 6
    # Whether norms of feature rows can be learned beside the classes: so by all that end in `train_backbone`.
    several_tasks: ClassVar[bool] = False
    # Whether users may have several labels each: what ends in `train_backbone` can learn them.
    several_labels: ClassVar[bool] = False
    # Whether raw features are read: such a method claims no privacy.
    reads_features: ClassVar[bool] = False
    # Whether it learns from volunteers' raw rows, `job.graph.panel`; it must ask nobody about features where `job.unasked`.
    takes_panel: ClassVar[bool] = False
    # Whether its first question about features is the first of its `questions`, whatever is answered before: it can then be
    # asked together with that for labels.
    first_round_known: ClassVar[bool] = False
    # Whether what it trains can be applied to users who join later: so by all that end in `train_backbone`, if which columns its input
    # has, and which edges it passes messages along, do not depend on answers.
    applies_later: ClassVar[bool] = False
    # Why it cannot be, as a sentence goes on after its name.
    not_later: ClassVar[str] = (
        "learns about the users that it has, and nothing that could be applied to others"
    )
    # What it can predict.
    tasks: ClassVar[tuple[str, ...]] = ("node", "link")

    @abstractmethod
    def learn(self, job: Job) -> Outcome:
        """Ask the users, learn, and return the scores of all users."""

    def asks_for_links(self, job: Job) -> bool:
        """Whether it asks for private links itself, and weighs them its own way; else that is done before it learns."""
        return False

    def holds_dense(self, settings: Any, task: str) -> bool:
        """Whether a dense matrix of users x features is held; `check_method` sees to it that no other method does."""
        return False

    def uses_panel(self, settings: Any) -> bool:
        """Whether volunteers' rows are used with these settings: else they are not handed over."""
        return self.takes_panel

    def not_in_parts(self, job: Job) -> str | None:
        """Why it cannot be learned by several workers with a part of the graph each, as a sentence goes on after its name; None if
        it can."""
        return "needs the whole graph, or all reports, in one place"

    def public_files(self, settings: Any) -> tuple[Path, ...]:
        """Files besides the graph that are read: a kept run is found again only as long as they are the same."""
        return ()

    def defaults(self, data: str, task: str, mechanism: str) -> dict[str, Any]:
        """Settings for this data, task and mechanism that are better than the general ones."""
        return {**find_task(task).defaults, **self.tuned.get(task, {}).get(data, {})}

    def settings_for(self, given: dict[str, Any], data: str, task: str, mechanism: str) -> Settings:
        """The settings of a run: those that are given, and for the rest the defaults."""
        known = self.defaults(data, task, mechanism)
        return self.settings.of({**known, **given})

    def prepare(self, job: Job) -> None:
        """Refuse, from public numbers, what cannot be done; before anybody is asked for anything."""
        return

    def begin(self, job: Job) -> Job:
        """Refuse what cannot be done, then ask for labels and norms where they have a budget: the job as it goes on."""
        if not self.takes_panel:
            job = replace(job, graph=job.graph.without_panel())
        check_task(self, job)
        job.task.check_budgets(job.budgets)
        job.task.check(self.name, job.graph)
        check_labels(self, job)
        job = self.with_questions(job)
        if job.budgets.norm_epsilon is not None:
            check_norms(self)
        refuse_links(job)
        if isinstance(job.graph, GraphPart):
            check_parts(self, job)
        self.prepare(job)
        if job.budgets.private_labels:
            job = job.with_private_labels()
            job.task.check(self.name, job.graph)
        if job.budgets.private_links and not self.asks_for_links(job):
            job = job.with_private_links()
        return job.with_norms()

    def run(self, job: Job) -> Outcome:
        """Learn, from private labels where they have a budget."""
        job = self.begin(job)
        outcome = self.learn(job)
        return replace(outcome, also={**outcome.also, **job.graph_numbers})

    def embed(self, job: Job) -> NDArray[np.float32]:
        """A row of numbers for each user: what `run` learned on the way. A method that needs no labels for it overrides this."""
        embedding = self.run(job).embedding
        if embedding is None:
            other = "" if job.backbone in BACKBONE_NAMES else f", or {BACKBONE_NAMES[0]} for {job.backbone}"
            raise InputError(
                f"{self.name} has no embedding for the task {job.task.name}: take another task or another method, like base{other}"
            )
        return embedding

    def questions(self, job: Job) -> Questions:
        """All that this method will ask in this job; computed once, before anybody is asked."""
        about_features = self.reports_features and not job.unasked
        return Questions(
            features=() if job.unasked else self.feature_plans(job),
            norms=job.norm_plans if about_features else (),
            labels=job.label_plan() if job.budgets.private_labels else None,
            links=job.link_plan() if job.budgets.private_links else None,
        )

    def with_questions(self, job: Job) -> Job:
        """The job with what this method asks, unless that has been computed."""
        return job if job.questions != Questions() else replace(job, questions=self.questions(job))

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        """The questions about features, round after round, as far as they are known before anybody has answered."""
        return (job.feature_plan(),) if self.reports_features else ()


def public_part(
    graph: Graph, *, private_labels: bool, private_links: bool, edges: DividedEdges | None = None
) -> Graph:
    """What a server knows of a graph before anybody has answered: no labels or no links where these are private, but for public links."""
    graph = graph.without_labels() if private_labels else graph
    if not private_links:
        return graph
    known = None if graph.links is None else no_known_links()
    graph = replace(graph, links=None)
    return replace(graph.without_edges() if edges is None else graph.with_edges(edges.public), links=known)


def refuse_links(job: Job) -> None:
    """Refuse, before anybody is asked, private links whose noise would not fit into memory, or hide every link."""
    if job.budgets.private_links:
        denoise.refuse_too_many(job.link_plan().build(), job.max_memory, dense=job.machine.allow_dense)


def check_parts(method: Method, job: Job) -> None:
    """Refuse what several workers with a part of the graph each cannot learn."""
    if job.budgets.private_links or job.graph.panel is not None or job.budgets.norm_epsilon is not None:
        raise InputError(
            "private links, volunteers and norms are not learned in parts: leave them out, or leave --workers out"
        )
    if job.backbone not in BY_PRODUCTS:
        raise InputError(
            f"{job.backbone} weighs each edge itself, as attention does, which needs every edge in one place, and each worker holds a part of "
            f"the graph: take one of {', '.join(BY_PRODUCTS)}, or leave --workers out"
        )
    raw = "reads raw rows, which stay with users in one process"
    why = raw if method.reads_features else method.not_in_parts(job)
    if why is not None:
        raise InputError(
            f"{method.name} {why}, and each worker holds a part of the graph: leave --workers out"
        )


def check_task(method: Method, job: Job) -> None:
    """Refuse a task that the method does not learn."""
    if job.task.name not in method.tasks:
        able = ", ".join(name for name, other in _methods.items() if job.task.name in other.tasks)
        raise InputError(
            f"{method.name} predicts {' and '.join(find_task(name).summary for name in method.tasks)}, not {job.task.summary}: take "
            f"another task, or one of {able}"
        )


def check_norms(method: Method) -> None:
    """Refuse norms of features in a method that cannot learn them."""
    if not method.several_tasks:
        able = ", ".join(name for name, other in _methods.items() if other.several_tasks)
        raise InputError(
            f"{method.name} learns classes alone, so --norm-epsilon has no meaning for it: leave it out, or take one of {able}"
        )


def check_panel(method: Method, settings: Any) -> None:
    """Refuse volunteers in a method that does not learn from their rows."""
    if method.uses_panel(settings):
        return
    if method.takes_panel:
        raise InputError(
            f"{method.name} uses no volunteers with these settings: leave --panel out, or set it to learn from them"
        )
    able = ", ".join(name for name, other in _methods.items() if other.takes_panel)
    other = f", or take one of {able}" if able else ""
    raise InputError(
        f"{method.name} does not learn from volunteers' raw features, so --panel has no meaning for it: leave it out{other}"
    )


def check_labels(method: Method, job: Job) -> None:
    """Refuse several labels a user where they are learned and the method cannot, or where they would have to be reported."""
    graph = job.graph
    if not (graph.multilabel and job.task.learns_labels):
        return
    one = f"choose one of the labels with data.label=0..{graph.class_count - 1}"
    if not method.several_labels:
        able = ", ".join(name for name, other in _methods.items() if other.several_labels)
        raise InputError(
            f"users of {graph.name} have several labels each, and {method.name} learns one class a user: take one of {able}, or {one}"
        )
    if job.budgets.private_labels:
        raise InputError(
            f"users of {graph.name} have several labels each, and --label-epsilon reports one class a user by k-ary response: leave it "
            f"out, or {one}"
        )


def _outside_method(name: str, member: Any) -> Method:
    """What was found in a file or a package, as a method: an instance, or a class that is made without arguments."""
    if isinstance(member, type) and issubclass(member, Method):
        try:
            member = member()
        except TypeError as error:
            raise InputError(f"{name} cannot be made without arguments: {error}") from None
    if not isinstance(member, Method):
        kind = member.__name__ if isinstance(member, type) else type(member).__name__
        raise InputError(
            f"{name} is no method but a {kind}: name a subclass of graphveil.methods.Method, or an instance of one"
        )
    check_named(member, name)
    return member


def check_named(method: Method, where: str) -> None:
    """Refuse a method that does not say what it is called."""
    name = getattr(method, "name", None)
    if not isinstance(name, str) or not name:
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
    registered = _outside_method(getattr(method, "__name__", type(method).__name__), method)
    if registered.name in _given and _methods.holds(registered.name, _given[registered.name]):
        _methods.forget(registered.name)
    _methods.add(registered.name, registered)
    _given[registered.name] = registered
    return registered.name
