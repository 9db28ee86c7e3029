"""The tasks: the classes of users, or links between them; and the outcome that a method returns.

A task owns all that depends on which it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise, learn
from graphveil.errors import InputError
from graphveil.graphs.divide import resplit
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import hold_out_links, known_links
from graphveil.graphs.metrics import measure
from graphveil.graphs.users import Users
from graphveil.methods.terms import Budgets
from graphveil.plugins import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from graphveil.methods.job import Job

# A number for each pair of users, the higher the likelier linked.
PairScores = Callable[[NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class TrainedBackbone:
    """A backbone as it was trained: its weights by name, what its input was multiplied by, and how many columns that had."""

    weights: dict[str, Tensor]
    factor: float
    columns: int


@dataclass(frozen=True)
class TrainingCurve:
    """The course of a training.

    Parameters
    ----------
    validation
        The validation loss of each epoch.
    better
        The number and the validation score of each epoch that was the best so far.
    training
        The training loss of each epoch; empty where a loop keeps none.
    """

    validation: tuple[float, ...]
    better: tuple[tuple[int, float], ...]
    training: tuple[float, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a method, and its score on the validation data.

    Parameters
    ----------
    scores
        Scores of all users for all classes, (users, classes) float32; where users have several labels each,
        the log-odds of each label; None where links are predicted.
    validation_score
        The accuracy; the micro-F1 where users have several labels each; the area under the curve where links
        are predicted.
    pair_scores
        A function that scores any pairs, where links are predicted.
    embedding
        A row for each user that was learned on the way.
    norms
        Predicted norms of the feature rows of all users, where norms are learned too.
    constant_norm
        One guess for everybody: the mean of what training users report.
    also
        Other numbers that the server knows, by name.
    curve
        The course of the training, where it was one loop over epochs.
    """

    scores: NDArray[np.float32] | None
    validation_loss: float
    validation_score: float
    # By stage; filled in from the job.
    seconds: dict[str, float] = field(default_factory=dict)
    detail: str = ""
    pair_scores: PairScores | None = None
    embedding: NDArray[np.float32] | None = None
    norms: NDArray[np.float64] | None = None
    constant_norm: float | None = None
    also: dict[str, float] = field(default_factory=dict)
    curve: TrainingCurve | None = None
    # The trained backbone, where the job asks for it and there is one.
    trained: TrainedBackbone | None = None


def node_targets(job: Job, topology: learn.Topology) -> learn.Targets | learn.SeveralTargets:
    """The classes of users and, where they are learned too, the norms of their features."""
    classes = graph_targets(job, topology)
    if job.norms is None:
        return classes
    reported = learn.tensor(job.norms.standard.astype(np.float32), job.device)
    return learn.SeveralTargets(classes, reported, job.settings.norm_weight)


def graph_targets(job: Job, topology: learn.Topology, *, drop: bool = True) -> learn.Targets:
    """Return the labels that the server knows, as tensors, with the loss that the settings ask for.

    Parameters
    ----------
    topology
        The graph along which labels spread, for the loss "drop".
    drop
        Whether that loss is allowed; else private labels have the forward loss.
    """
    graph, settings = job.graph, job.settings
    labels, train, validation = (
        learn.tensor(array, job.device) for array in (graph.labels, graph.train, graph.validation)
    )
    if graph.multilabel:
        return learn.MultilabelTargets(labels, train, validation)
    collective = graph.collective
    if job.label_mechanism is None or settings.label_loss == "plain":
        return learn.Targets(labels, train, validation, collective=collective)
    transition = learn.tensor(job.label_mechanism.transition.astype(np.float32), job.device)
    if settings.label_loss == "forward" or not drop:
        return learn.Targets(labels, train, validation, transition, collective=collective)
    hops = denoise.KProp(settings.drop_hops).operator(topology.unlooped)
    cleaned = learn.spread_labels(labels, train | validation, graph.class_count, hops)
    return learn.DropTargets(labels, train, validation, transition, hops, cleaned, collective=collective)


class Task(ABC):
    """One thing to predict: how data are divided for it, what a model ends in and learns towards, and how it is scored."""

    name: ClassVar[str]
    summary: ClassVar[str]
    # Settings of a network that are better for this task than the general ones.
    defaults: ClassVar[dict[str, Any]] = {}
    # Whether labels are learned, so that they can be private; and whether other numbers can be learned beside.
    learns_labels: ClassVar[bool]

    @abstractmethod
    def divide(self, graph: Graph, users: Users, seed: int) -> tuple[Graph, Users]:
        """Return the data of one run: what trains, what validates and what tests.

        Parameters
        ----------
        graph, users
            The data.
        seed
            The seed by which they are divided.
        """

    @abstractmethod
    def check_budgets(self, budgets: Budgets) -> None:
        """Refuse budgets that have no meaning for this task."""

    @abstractmethod
    def check(self, method: str, graph: Graph) -> None:
        """Refuse a graph that says too little to learn from."""

    def with_private_links(self, graph: Graph, seed: int) -> Graph:
        """The graph to learn from, where its edges are what is known of private links."""
        return graph

    @abstractmethod
    def metric(self, graph: Graph) -> str:
        """Return the name of the metric that scores are in."""

    @abstractmethod
    def output_count(self, job: Job) -> int:
        """Return the number of columns that a model ends in."""

    @abstractmethod
    def goal(self, job: Job, topology: learn.Topology) -> learn.Goal:
        """Return the goal that a model of this job learns towards."""

    @abstractmethod
    def outcome(self, job: Job, fitted: learn.Fitted, detail: str = "") -> Outcome:
        """Return the outcome of a trained model.

        Parameters
        ----------
        fitted
            The trained model.
        detail
            A sentence about it.
        """

    @abstractmethod
    def test_score(self, graph: Graph, users: Users, outcome: Outcome) -> float:
        """Return the score on the test data; the users compute it.

        Parameters
        ----------
        graph, users
            The data.
        outcome
            What a method predicts.
        """

    @abstractmethod
    def validation(self, graph: Graph, outcome: Outcome, budgets: Budgets) -> tuple[str, float]:
        """Return the name of a metric, and the score of what validates by it.

        Parameters
        ----------
        outcome
            What a method predicts.
        budgets
            The budgets of its job.
        """


class NodeTask(Task):
    """The class of each user, or the labels where a user may have several, from the labels of some."""

    name = "node"
    summary = "classes of users"
    learns_labels = True

    def divide(self, graph: Graph, users: Users, seed: int) -> tuple[Graph, Users]:
        return resplit(graph, users, seed)

    def check_budgets(self, budgets: Budgets) -> None:
        return

    def check(self, method: str, graph: Graph) -> None:
        for part in ("train", "validation"):
            if not graph.count(getattr(graph, part)):
                raise InputError(f"{method} needs {part} users with a label: give the {part} split some")

    def metric(self, graph: Graph) -> str:
        return graph.metric

    def output_count(self, job: Job) -> int:
        """The classes or labels, and the norm where it is learned too."""
        return job.graph.class_count + (job.norms is not None)

    def goal(self, job: Job, topology: learn.Topology) -> learn.Goal:
        return node_targets(job, topology)

    def outcome(self, job: Job, fitted: learn.Fitted, detail: str = "") -> Outcome:
        scores = fitted.scores.detach().cpu().numpy()
        outcome = Outcome(
            scores,
            fitted.validation_loss,
            fitted.validation_score,
            detail=detail,
            embedding=None if fitted.hidden is None else fitted.hidden.cpu().numpy(),
            curve=_curve(fitted),
        )
        if job.norms is None:
            return outcome
        norms = job.norms.predicted(scores[:, -1], job.graph.validation)
        return replace(outcome, scores=scores[:, :-1], norms=norms, constant_norm=job.norms.centre)

    def test_score(self, graph: Graph, users: Users, outcome: Outcome) -> float:
        return users.evaluate(outcome.scores, graph)

    def validation(self, graph: Graph, outcome: Outcome, budgets: Budgets) -> tuple[str, float]:
        """The graph's metric; where labels are private, the accuracy against the reported ones."""
        if graph.metric == "accuracy" or budgets.private_labels:
            return "accuracy", outcome.validation_score
        score = measure(graph.metric, outcome.scores, graph.labels, graph.validation, graph.class_count)
        return graph.metric, score


class LinkTask(Task):
    """The prediction of links between users, from some of the links."""

    name = "link"
    summary = "held-out links"
    # An encoder's layers both have so many columns, and it stops when it gets no better.
    defaults: ClassVar[dict[str, Any]] = {"hidden": 64, "epochs": 300, "patience": 50}
    learns_labels = False

    def divide(self, graph: Graph, users: Users, seed: int) -> tuple[Graph, Users]:
        return hold_out_links(graph, users, seed)

    def check_budgets(self, budgets: Budgets) -> None:
        if budgets.private_labels:
            raise InputError("where links are predicted, labels are not used: leave out --label-epsilon")
        if budgets.norm_epsilon is not None:
            raise InputError("norms are learned beside classes, not beside links: leave --norm-epsilon out")

    def check(self, method: str, graph: Graph) -> None:
        return

    def with_private_links(self, graph: Graph, seed: int) -> Graph:
        """Training and validation links come from the private graph too."""
        return known_links(graph, seed)

    def metric(self, graph: Graph) -> str:
        return "roc_auc"

    def output_count(self, job: Job) -> int:
        """The columns of an embedding."""
        return int(job.settings.hidden)

    def goal(self, job: Job, topology: learn.Topology) -> learn.Goal:
        return learn.LinkTargets(job.graph, job.device)

    def outcome(self, job: Job, fitted: learn.Fitted, detail: str = "") -> Outcome:
        rows = fitted.scores.detach().cpu().numpy()
        validated = (fitted.validation_loss, fitted.validation_score)
        pair_scores = learn.InnerProducts(rows)
        return Outcome(
            None, *validated, detail=detail, pair_scores=pair_scores, embedding=rows, curve=_curve(fitted)
        )

    def test_score(self, graph: Graph, users: Users, outcome: Outcome) -> float:
        assert outcome.pair_scores is not None
        return users.evaluate_links(outcome.pair_scores, graph)

    def validation(self, graph: Graph, outcome: Outcome, budgets: Budgets) -> tuple[str, float]:
        return "roc_auc", outcome.validation_score


def _curve(fitted: learn.Fitted) -> TrainingCurve | None:
    return TrainingCurve(fitted.losses, fitted.better, fitted.train_losses) if fitted.losses else None


NODE, LINK = NodeTask(), LinkTask()
# A task of your own is one class and one `TASKS.add(name, task)`; methods say in `can` which they can learn.
TASKS = Registry[Task]("task", {each.name: each for each in (NODE, LINK)})


def task_of(graph: Graph) -> Task:
    """Return the task that a graph is divided for: links where some are held out of it, else classes."""
    return NODE if graph.links is None else LINK
