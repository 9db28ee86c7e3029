"""The job of one run: the public graph, users who answer, settings; and the questions of a method."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import DividedEdges, no_known_links
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports, entry
from graphveil.mechanisms.base import Mechanism, Subject
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.methods.private_links import PrivateLinks, link_plan
from graphveil.methods.private_targets import ReportedNorms, label_plan, norm_plan
from graphveil.methods.tasks import NODE, Task, TrainedBackbone, task_of
from graphveil.methods.terms import Budgets, Levels, Machine, nested
from graphveil.privacy import Ledger, Plan, Respondents
from graphveil.privacy.ledger import add_up, most_spent

if TYPE_CHECKING:
    from graphveil.learn.checkpoints import Checkpoints

# What seconds are counted for.
STAGES = ("report", "denoise", "train")
# Told what is being done and which share of it is done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Questions:
    """The plans of a method: about features, round after round, about norms and classes of rows, about labels and links.

    Every user spends what the plans cost that ask this user: plans for different users are alternatives, and cost the most that
    one of them does. ``classes`` ask for the class that a public model gives. Where the model is learned from earlier answers,
    plans with any other model stand here for those that will be asked: users and budgets are what counts.

    What a budget must hold, what users of each level spend and what is told of it afterwards all follow from these. Which
    attributes a later round asks for may depend on the answers to an earlier one; what that round costs may not.
    """

    features: tuple[Plan, ...] = ()
    norms: Plan | None = None
    labels: Plan | None = None
    links: Plan | None = None
    classes: tuple[Plan, ...] = ()

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism for features of each round."""
        return tuple(plan.build() for plan in self.features)

    @property
    def claims(self) -> dict[Subject, Claim]:
        """The most that a user will be charged, by subject."""
        claims: dict[Subject, Claim] = {}
        if self._about_features:
            claims["features"] = _spent(self._about_features)
        if self.labels is not None:
            claims["label"] = self.labels.claim
        if self.links is not None:
            claims["links"] = self.links.claim
        return claims

    @property
    def cost(self) -> Claim:
        """The most that a user will spend: all subjects added up."""
        own = _spent((*self._about_features, *([] if self.labels is None else [self.labels])))
        return own if self.links is None else add_up([own, self.links.claim])

    @property
    def _about_features(self) -> tuple[Plan, ...]:
        return (*self.features, *([] if self.norms is None else [self.norms]), *self.classes)

    @property
    def level_budgets(self) -> tuple[float, ...] | None:
        """The cost of the features for a user of each level, where users choose one: all rounds added up."""
        budgets = [mechanism.budgets for mechanism in self.mechanisms if mechanism.budgets]
        return tuple(sum(spent) for spent in zip(*budgets, strict=True)) if budgets else None

    def open_ledger(self, users: Users) -> Ledger:
        """Books with just the budget that is needed; where users choose a level, each has that level's.

        Who is asked for no label has no budget for one: it could be spent on a second answer about features.
        """
        by_level = self.level_budgets
        if by_level is None:
            return users.open_ledger(self.needed(len(users)), self.cost.delta)
        others = (self.norms, *self.classes, self.labels, self.links)
        besides = add_up(plan.claim for plan in others if plan is not None)
        return users.open_ledger(besides.epsilon, besides.delta, by_level=by_level)

    def needed(self, count: int) -> NDArray[np.float64]:
        """Return the budget that each of ``count`` users needs: (count,) float64.

        Which users answer which plan about features is not settled yet: everybody may need the most.
        """
        about = _spent(self._about_features).epsilon
        needed = np.full(count, about + (0.0 if self.links is None else self.links.claim.epsilon))
        if self.labels is not None:
            who = slice(None) if self.labels.users == "all" else np.array(self.labels.users, dtype=np.int64)
            needed[who] += self.labels.claim.epsilon
        return needed


def _spent(plans: tuple[Plan, ...]) -> Claim:
    """The most that one user spends on these plans."""
    asked = [None if plan.users == "all" else np.array(plan.users, dtype=np.int64) for plan in plans]
    return most_spent(zip((plan.claim for plan in plans), asked, strict=True))


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training that change no number.

    Parameters
    ----------
    keep
        Whether the outcome is to hold the trained backbone.
    trained
        A backbone that is applied in the place of training.
    checkpoints
        Where trainings are kept that an interrupted run goes on from.
    """

    keep: bool = False
    trained: TrainedBackbone | None = None
    checkpoints: Checkpoints | None = None


@dataclass(frozen=True)
class Job:
    """Everything that a method is given for one run: the public graph, and users who answer plans and nothing else.

    ``seed`` is that of the run, from which users draw too: draw from streams of your own, as SeededBits(seed, 1, …) are.
    ``raw`` are the raw features, which the code that runs an experiment gives to a method that claims no privacy.
    """

    graph: Graph
    users: Respondents
    settings: Any
    seed: int
    # What the method asks: filled in before it begins.
    questions: Questions = field(default_factory=Questions)
    budgets: Budgets = field(default_factory=lambda: Budgets(mechanism="multibit", link_mechanism="link-rr"))
    levels: Levels = field(default_factory=Levels)
    machine: Machine = field(default_factory=lambda: Machine(device="cpu"))
    mechanism_options: dict[str, Any] = field(default_factory=dict)
    links: PrivateLinks = field(default_factory=PrivateLinks)
    backbone: str = "gcn"
    # What is to be predicted.
    task: Task = NODE
    # How training and validation labels were randomized, where they are private.
    label_mechanism: LabelMechanism | None = None
    # Where the norms of feature rows are learned too: the reports, once they are there.
    norms: ReportedNorms | None = None
    raw: Any = None
    # What the panel and the graph alone give: nobody may be asked for anything about features.
    unasked: bool = False
    training: TrainingOptions = field(default_factory=TrainingOptions)
    progress: Progress | None = None
    # What was spent on each stage so far.
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0), compare=False)

    @classmethod
    def of(cls, graph: Graph, users: Respondents, settings: Any, seed: int, **options: Any) -> Job:
        """Return a job from options by name, as an experiment has them: epsilon, mechanism, label_epsilon, device and so on.

        Unless a task is given, links are predicted where some are held out of the graph, else classes.

        Parameters
        ----------
        graph
            What is public.
        users
            Those who answer.
        settings
            The method's settings.
        seed
            The seed of the run.
        options
            Other fields, and fields of its records.
        """
        return cls(graph, users, settings, seed, **nested({"task": task_of(graph), **options}, cls))

    @property
    def epsilon(self) -> float:
        """The budget for features, where they are asked for."""
        assert self.budgets.epsilon is not None
        return self.budgets.epsilon

    @property
    def device(self) -> str:
        """The device to learn on: cpu or cuda."""
        return self.machine.device

    @property
    def max_memory(self) -> float | None:
        """The most gigabytes that a dense matrix may take."""
        return self.machine.max_memory

    def say(self, what: str, share: float) -> None:
        """Tell how far the work is, if anybody listens."""
        if self.progress is not None:
            self.progress(what, share)

    @contextmanager
    def stage(self, name: str, doing: str = "") -> Iterator[None]:
        """Count the seconds of what happens inside for a stage (report, denoise or train), and tell what is being done."""
        if doing:
            self.say(doing, 0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start

    def ask(self, plan: Plan, *, doing: str = "reporting") -> Reports:
        """Ask the users a question: what they report."""
        with self.stage("report", doing):
            return self.users.report(plan)


def epoch_progress(job: Job) -> Callable[[int, int, float], None]:
    """Return a function that tells how far a training is: called with the epochs done, the most epochs, and the loss."""
    return lambda done, most, loss: job.say("training", done / most)


def raw_rows(job: Job) -> Any:
    """Return the raw features, for a method that claims no privacy."""
    if job.raw is None:
        raise InputError(
            "this method learns from raw features, and these were not given: pass them as job.raw"
        )
    return job.raw


def questions_of(job: Job, *features: Plan) -> Questions:
    """Return questions about features, and about norms, labels and links as far as the job has budgets for them.

    Nothing is asked about features where the panel and the graph alone are learned from.
    """
    budgets, asked = job.budgets, () if job.unasked else features
    return Questions(
        features=asked,
        norms=norm_plan(job) if asked and budgets.norm_epsilon is not None else None,
        labels=label_plan(job) if budgets.private_labels else None,
        links=link_plan(job) if budgets.private_links else None,
    )


def feature_plan(job: Job, epsilon: float | None = None, **more: Any) -> Plan:
    """Return a question about features with the job's mechanism, budget and options, and the graph's public range.

    Parameters
    ----------
    epsilon
        A part of the budget; all of it by default. δ and the budgets of levels are divided alike.
    more
        Other fields of the plan, as ``users``, ``round`` or ``sampled``; ``options`` are added to the job's.
    """
    graph, budgets, levels = job.graph, job.budgets, job.levels
    whole, by_level, delta = budgets.epsilon, levels.budgets, budgets.delta
    asked = whole if epsilon is None else epsilon
    if asked is not None and whole is not None and asked != whole:
        share = asked / whole
        by_level = by_level and (asked, *(budget * share for budget in by_level[1:]))
        delta = delta and delta * share
    accepted = inspect.signature(entry(budgets.mechanism).build).parameters

    def taken(known: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in known.items() if key in accepted and value is not None}

    fields = taken(
        {
            "dims": graph.feature_count,
            "range": astuple(graph.feature_range),
            "binary": _binary(job),
            "delta": delta,
            "levels": levels.levels,
        }
    )
    options = taken({"budgets": by_level, "gamma": levels.gamma}) | job.mechanism_options
    # How many values are sampled, and whether they are binary, are fields of every plan; the rest is each mechanism's own.
    own = {"sampled": options.pop("sampled")} if "sampled" in options else {}
    options.pop("binary", None)
    options |= more.pop("options", {})
    return Plan(mechanism=budgets.mechanism, epsilon=asked, options=options, **{**fields, **more, **own})


def with_options(plan: Plan, **options: Any) -> Plan:
    """Return the same question with more options of its mechanism."""
    asked = plan.model_dump(exclude_none=True)
    return Plan(**{**asked, "options": {**asked["options"], **options}})


def _binary(job: Job) -> bool | None:
    """Return whether a mechanism is told that values are binary: where they are, unless the documents' continuous form is asked for.

    That is asked for by mechanism.binary=false, or by naming a number of input points.
    """
    options = job.mechanism_options
    binary = options.get("binary", "points" not in options)
    if not isinstance(binary, bool):
        raise InputError(f"mechanism.binary must be true or false, got {binary!r}")
    if binary and "binary" in options and not job.graph.binary:
        raise InputError(f"the values of {job.graph.name} are not binary: leave mechanism.binary out")
    return (job.graph.binary and binary) or None


def public_part(
    graph: Graph, *, private_labels: bool, private_links: bool, edges: DividedEdges | None = None
) -> Graph:
    """Return what a server knows of a graph before anybody has answered.

    Parameters
    ----------
    private_labels, private_links
        Whether labels and links are private, and so left out.
    edges
        The public links, where only some links are private.
    """
    graph = graph.without_labels() if private_labels else graph
    if not private_links:
        return graph
    known = None if graph.links is None else no_known_links()
    graph = replace(graph, links=None)
    return replace(graph.without_edges() if edges is None else graph.with_edges(edges.public), links=known)
