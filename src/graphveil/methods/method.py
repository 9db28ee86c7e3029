"""The base class of methods: ways to learn from a graph and from what its users report.

Its settings, what it can do, how its backbone is trained, and methods by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil import denoise, learn, linear
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.lazy import registered_names
from graphveil.methods.job import STAGES, Job, Questions, epoch_progress, feature_plan, questions_of
from graphveil.methods.private_links import LinkUse, link_plan, with_private_links
from graphveil.methods.private_targets import with_norms, with_private_labels
from graphveil.methods.tasks import TASKS, Outcome, TrainedBackbone
from graphveil.plugins import Registry, digest, is_reference, plugins, unknown_name

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
    """Return a digest of the code of a backbone from outside; None for the library's own."""
    return None if name in BACKBONE_NAMES else digest(name, GROUP)


# The values of each setting that are searched, and settings by task and data.
Grid = dict[str, tuple[Any, ...]]
Tuned = dict[str, dict[str, dict[str, Any]]]
# What a setting says that leaves the choice open.
AUTO: Final = "auto"
# The backbones that a method can be asked for by name: those of graphveil.learn.BACKBONES, which needs torch.
BACKBONE_NAMES = registered_names(Path(learn.__file__).with_name("backbones.py"), "BACKBONES")
# All that UPGNET, PPGNN and TOGL search in training, put together: each has powers of ten of its own, PPGNN the larger
# dropouts, PPGNN and TOGL no dropout and no weight decay. PPGNN's learning rate of 0 is left out: it learns nothing.
TRAINING_GRID: Grid = {
    "lr": (1e-4, 1e-3, 1e-2, 1e-1),
    "weight_decay": (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    "dropout": (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.25, 0.5, 0.75),
}
# What methods that average over hops search besides: UPGNET's, of which PPGNN takes those up to 16.
HOPS_GRID: Grid = {"hops": (0, 2, 4, 8, 16, 32, 64)}
# What is searched besides where labels are private.
LABEL_GRID: Grid = {"drop_hops": (2, 4, 8, 16, 32)}
# What is searched besides where users choose a privacy level: PPGNN's γ, an option of its mechanisms.
LEVEL_GRID: Grid = {"mechanism.gamma": (0.1, 0.3, 0.5, 0.7, 0.9)}


class Settings(BaseModel):
    """The settings of every method that trains a backbone."""

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

    # Settings whose tuned values hold for the method's own mechanism alone.
    of_mechanism: ClassVar[tuple[str, ...]] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """Files besides the graph that are read: a stored run is found again only as long as they are the same."""
        return ()

    def schedule(self, **more: Any) -> learn.Schedule:
        """Return how a model is trained with these settings."""
        return learn.Schedule(self.epochs, self.lr, self.weight_decay, self.patience, **more)

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


# Why a method that reads raw features is not learned in parts.
RAW_ROWS = "reads raw rows, which stay with users in one process"
# Backbones that pass messages by products with a sparse matrix alone, or pass none.
BY_PRODUCTS = ("gcn", "sage", "gin", "appnp", "sgc", "ssgc", "mlp")


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a method, as data; `require` words the refusals.

    Parameters
    ----------
    features
        Whether users are asked about features, so that a budget is needed and a control can be run; or raw ones are read, and no
        privacy is claimed; or none are used.
    tasks
        What it can predict.
    levels
        How many privacy levels users choose from by default, where the mechanism has levels; 0 if they cannot.
    norms
        Whether norms of feature rows can be learned beside the classes: so by all that end in `train_backbone`.
    several_labels
        Whether users may have several labels each: what ends in `train_backbone` can learn them.
    panel
        Whether it learns from volunteers' raw rows, `job.graph.panel`; it must ask nobody about features where `job.unasked`.
    first_round_known
        Whether its first question about features is the first of its `questions`, whatever is answered before: it can then be
        asked together with that for labels.
    new_users
        Whether what it trains can be applied to users who join later: so by all that end in `train_backbone`, if which columns its
        input has, and which edges it passes messages along, do not depend on answers.
    parts
        Whether several workers with a part of the graph each can learn it.
    dense
        Whether a dense matrix of users x features is held; `check_method` sees to it that no other method does.
    why_not
        Why it lacks one of these, by name, as a sentence goes on after the method's name.
    """

    features: Literal["reported", "raw", "unused"] = "reported"
    tasks: tuple[str, ...] = ("node", "link")
    levels: int = 0
    norms: bool = False
    several_labels: bool = False
    panel: bool = False
    first_round_known: bool = False
    new_users: bool = False
    parts: bool = False
    dense: bool = False
    why_not: Mapping[str, str] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether users are asked about features."""
        return self.features == "reported"


# Members of methods of earlier versions, and what stands in their place.
FORMER = {
    "can = Capabilities(…)": "takes_panel|uses_panel|several_labels|several_tasks|reports_features|reads_features|reports_levels"
    "|level_count|first_round_known|applies_later|not_later|holds_dense|not_in_parts",
    "links = LinkUse(…)": "link_mechanism|link_settings|link_grid|asks_for_links",
    "questions(job)": "feature_plans",
    "task_settings and tuned": "settings_for",
    "a property `files` of its settings": "public_files",
}


class Method(ABC):
    """One file a method: subclass this, name it, and list it in `graphveil.methods`."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    settings: ClassVar[type[Settings]] = Settings
    can: ClassVar[Capabilities] = Capabilities()
    # What is taken where nothing else is asked for.
    mechanism: ClassVar[str] = "multibit"
    backbone: ClassVar[str] = "gcn"
    links: ClassVar[LinkUse] = LinkUse()
    # What `graphveil tune` searches: what the documents search, and what is ours.
    grid: ClassVar[Grid] = {}
    # Settings that are better than the general ones: by task, and on some data by task, chosen on what validates there.
    task_settings: ClassVar[dict[str, dict[str, Any]]] = {}
    tuned: ClassVar[Tuned] = {"node": {}, "link": {}}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for instead, former in FORMER.items():
            for name in vars(cls).keys() & set(former.split("|")):
                raise InputError(f"{cls.__name__}.{name} has no meaning any more: write {instead}")

    @abstractmethod
    def learn(self, job: Job) -> Outcome:
        """Ask the users, learn, and return the scores of all users."""

    def questions(self, job: Job) -> Questions:
        """Return all that this method will ask in this job; computed once, before anybody is asked.

        Later rounds stand there as far as they are known: which attributes they ask for may depend on answers, what they cost may not.
        """
        return questions_of(job, feature_plan(job)) if self.can.asks else questions_of(job)

    def can_with(self, settings: Any, task: str = "node") -> Capabilities:
        """Return what it can do with these settings."""
        return self.can

    def check(self, job: Job) -> None:
        """Refuse, from public numbers, what cannot be done; before anybody is asked for anything."""
        return

    def run(self, job: Job) -> Outcome:
        """Learn, from private labels where they have a budget."""
        job = begin(self, job)
        outcome = self.learn(job)
        return replace(outcome, seconds=job.seconds, also={**outcome.also, **job.links.numbers})

    def embed(self, job: Job) -> NDArray[np.float32]:
        """Return a row of numbers for each user: what `run` learned on the way. A method that needs no labels for it overrides this."""
        embedding = self.run(job).embedding
        if embedding is None:
            other = "" if job.backbone in BACKBONE_NAMES else f", or {BACKBONE_NAMES[0]} for {job.backbone}"
            raise InputError(
                f"{self.name} has no embedding for the task {job.task.name}: take another task or another method, like base{other}"
            )
        return embedding


def tuned_settings(method: Method, data: str, task: str, mechanism: str) -> dict[str, Any]:
    """Return settings for this data, task and mechanism that are better than a method's general ones.

    Parameters
    ----------
    data, task, mechanism
        The names of the dataset, the task and the mechanism.
    """
    general = {**TASKS.find(task).defaults, **method.task_settings.get(task, {})}
    chosen = {**general, **method.tuned.get(task, {}).get(data, {})}
    others = () if mechanism == method.mechanism else method.settings.of_mechanism
    return {name: value for name, value in chosen.items() if name not in others}


def begin(method: Method, job: Job) -> Job:
    """Refuse what cannot be done, then ask for labels, links and norms where they have a budget: the job as it goes on."""
    graph = job.graph if method.can.panel else job.graph.without_panel()
    job = replace(job, graph=graph, seconds=dict.fromkeys(STAGES, 0.0))
    check_job(method, job)
    job = with_questions(method, job)
    method.check(job)
    if job.budgets.private_labels:
        job = with_private_labels(job)
        job.task.check(method.name, job.graph)
    if job.budgets.private_links and job.task.name not in method.links.asked_for:
        job = with_private_links(job)
    return job if job.questions.norms is None else with_norms(job)


def with_questions(method: Method, job: Job) -> Job:
    """Return the job with what a method asks, unless that has been computed."""
    return job if job.questions != Questions() else replace(job, questions=method.questions(job))


def train_backbone(
    job: Job,
    inputs: linear.Input,
    topology: learn.Topology | None = None,
    *,
    input_dropout: float = 0.0,
    group_lasso: float = 0.0,
) -> Outcome:
    """Train the job's backbone on these inputs; the seed decides its first weights and its dropout.

    Where the settings leave the scale of the input open, the inputs are tried in several sizes.

    Parameters
    ----------
    inputs
        (users, columns), dense or sparse.
    topology
        The graph to pass messages along; by default the job's graph.
    input_dropout
        The share of the input's entries that each epoch leaves out.
    group_lasso
        The strength of the group lasso: see `learn.Schedule`.
    """
    settings: Settings = job.settings
    topology = learn.Topology(job.graph, job.device) if topology is None else topology
    schedule = settings.schedule(input_dropout=input_dropout, group_lasso=group_lasso)
    if not input_dropout:
        with job.stage("train"):
            inputs = learn.before_training(inputs, schedule.epochs, settings.hidden, job.max_memory)
    if job.training.trained is not None:
        with job.stage("train"):
            return job.task.outcome(job, _applied(job, job.training.trained, inputs, topology))
    with job.stage("train"):
        fitted, also = at_best_scale(
            job, lambda factor: _training(job, inputs, topology, schedule, factor), schedule
        )
    outcome = job.task.outcome(job, fitted)
    kept = fitted.weights and TrainedBackbone(fitted.weights, fitted.factor, inputs.shape[1])
    return replace(outcome, also=outcome.also | also, trained=kept or None)


def _applied(
    job: Job, trained: TrainedBackbone, inputs: linear.Input, topology: learn.Topology
) -> learn.Fitted:
    """Apply a backbone that was trained before to these inputs; no label is looked at."""
    if inputs.shape[1] != trained.columns:
        raise InputError(
            f"the model takes {trained.columns} columns, got {inputs.shape[1]}: apply it to the same features"
        )
    with learn.seeded(job.seed):
        model = _backbone(job, trained.columns)
    return learn.apply(model, trained.weights, linear.scaled(inputs, trained.factor), topology)


def at_best_scale(
    job: Job, train: Callable[[float], learn.Steps], schedule: learn.Schedule
) -> tuple[learn.Fitted, dict[str, float]]:
    """Train on inputs times a factor: 1 where the settings name the scale, else the best.

    The share that was chosen is returned too, by name.

    Parameters
    ----------
    train
        A function that begins a training by a factor.
    schedule
        Its schedule.
    """
    settings: Settings = job.settings
    if not isinstance(settings, ScaledSettings) or settings.input_share != AUTO:
        with learn.seeded(job.seed):
            return learn.finish(train(1.0)), {}
    fitted, factor = learn.best_scale(train, schedule, job.seed)
    return fitted, {"input_share": factor * settings.share}


def _training(
    job: Job, inputs: linear.Input, topology: learn.Topology, schedule: learn.Schedule, factor: float
) -> learn.Steps:
    """A training of the backbone on inputs times a factor, from the same first weights for each."""
    fitted = yield from learn.fitting(
        _backbone(job, inputs.shape[1]),
        linear.scaled(inputs, factor),
        topology,
        job.task.goal(job, topology),
        schedule,
        epoch_progress(job),
        keep_weights=job.training.keep,
        checkpoints=job.training.checkpoints,
    )
    return replace(fitted, factor=factor)


def _backbone(job: Job, columns: int) -> learn.Backbone:
    """The job's backbone with its first weights, for an input of so many columns."""
    settings: Settings = job.settings
    model = learn.build_backbone(
        job.backbone,
        columns,
        settings.hidden,
        job.task.output_count(job),
        activation=settings.activation,
        dropout=settings.dropout,
    ).to(job.device)
    if isinstance(model, learn.CustomBackbone):
        model.max_memory = job.max_memory
    return model


# Why a method lacks a capability, where it says nothing of its own, and what to do; {able} are other methods that have it.
REFUSALS = {
    "norms": (
        "learns classes alone, so --norm-epsilon has no meaning for it",
        "leave it out{or_able}",
    ),
    "panel": (
        "does not learn from volunteers' raw features, so --panel has no meaning for it",
        "leave --panel out{or_able}",
    ),
    "several_labels": (
        "learns one class a user, and users of {graph} have several labels each",
        "take one of {able}, or {one}",
    ),
    "new_users": (
        "learns about the users that it has, and nothing that could be applied to others",
        "there is no model of it, so take one of {able}, or run it again when people have joined",
    ),
    "parts": (
        "needs the whole graph, or all reports, in one place",
        "each worker holds a part of the graph, so leave --workers out",
    ),
}


def require(method: Method, needed: str, settings: Any = None, task: str = "node", **facts: str) -> None:
    """Refuse a capability that a method lacks, and name methods that have it.

    Parameters
    ----------
    needed
        The name of the capability.
    settings
        The settings that the method is to have; None for any.
    facts
        What the sentence of this capability says besides.
    """
    can = method.can if settings is None else method.can_with(settings, task)
    if getattr(can, needed):
        return
    able = ", ".join(
        name for name, other in METHODS.items() if getattr(other.can, needed) and other is not method
    )
    facts |= {"able": able, "or_able": f", or take one of {able}" if able else ""}
    why, instead = (part.format(**facts) for part in REFUSALS[needed])
    raise InputError(f"{method.name} {can.why_not.get(needed, why)}: {instead}")


def check_job(method: Method, job: Job) -> None:
    """Refuse a job that a method cannot do, before anybody is asked for anything."""
    task, graph, budgets = job.task, job.graph, job.budgets
    if task.name not in method.can.tasks:
        own = " and ".join(TASKS.find(name).summary for name in method.can.tasks)
        able = "".join(f", or {name}" for name, other in METHODS.items() if task.name in other.can.tasks)
        raise InputError(f"{method.name} predicts {own}, not {task.summary}: take another task{able}")
    task.check_budgets(budgets)
    task.check(method.name, graph)
    if graph.multilabel and task.learns_labels:
        one = f"choose one of the labels with data.label=0..{graph.class_count - 1}"
        require(method, "several_labels", graph=graph.name, one=one)
        if budgets.private_labels:
            raise InputError(
                f"users of {graph.name} have several labels each, and --label-epsilon reports one class a user: leave it out, or {one}"
            )
    if budgets.norm_epsilon is not None:
        require(method, "norms")
    if budgets.private_links:
        # Noise that would not fit into memory, or hide every link.
        denoise.refuse_too_many(link_plan(job).build(), job.max_memory, dense=job.machine.allow_dense)
    if isinstance(graph, GraphPart):
        check_parts(method, job)


def check_parts(method: Method, job: Job) -> None:
    """Refuse what several workers with a part of the graph each cannot learn."""
    if job.budgets.private_links or job.graph.panel is not None or job.budgets.norm_epsilon is not None:
        raise InputError(
            "workers cannot learn private links, volunteers or norms in parts: leave --workers out"
        )
    if job.backbone not in BY_PRODUCTS:
        raise InputError(
            f"{job.backbone} weighs each edge itself, which workers with a part each cannot: take one of {', '.join(BY_PRODUCTS)}"
        )
    require(method, "parts", job.settings, job.task.name)


def _custom_method(name: str, member: Any) -> Method:
    """Return what was found in a file or a package as a method: an instance, or a class that is made without arguments."""
    if isinstance(member, type) and issubclass(member, Method):
        try:
            member = member()
        except TypeError as error:
            raise InputError(f"{name} cannot be made without arguments: {error}") from None
    if not isinstance(member, Method):
        kind = member.__name__ if isinstance(member, type) else type(member).__name__
        raise InputError(f"{name} is a {kind}, not a method: name a subclass of graphveil.methods.Method")
    own = getattr(member, "name", None)
    if not isinstance(own, str) or not own:
        raise InputError(f'{name} has no name: give its class one, like name = "mine"')
    return member


METHODS = Registry[Method]("method", group="graphveil.methods", adapt=_custom_method)
