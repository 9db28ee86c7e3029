"""veil's second question: what is known before it, who is asked for a class, and what the answers say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import Group, mean_of_all
from graphveil.methods.job import Job
from graphveil.methods.method import AUTO
from graphveil.methods.structure import shared_alone, transition_of, validation_quality
from graphveil.methods.structure_posterior import Posterior
from graphveil.methods.tasks import Stopwatch
from graphveil.methods.veil_model import PublicModel
from graphveil.privacy import Plan

if TYPE_CHECKING:
    from graphveil.learn.class_answers import ClassAnswers, Judged, Judges

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# How many classes are left open, and whether what the graph says is added on the device, up to which ε.
OPEN = ((1.5, 2, False), (3.0, 3, False), (math.inf, 5, True))
# Where there are no more classes than this, all stay open: else the true one is missing in whole parts of a graph like the town,
# and no neighbour can bring it back.
ALL_OPEN = 4
# The stream of a run's seed that public coins come from.
COINS = 11
# Probabilities below this count as this before their logarithm is sent.
SMALLEST = 1e-6
# Certainties that are the same in so many digits are the same, where they may have been learned in parts.
DIGITS = 4


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """What is known before anybody is asked about a row: calibrated probabilities, and the validation users who judge."""

    graph: Graph
    prior: Floats
    judges: Judges

    @classmethod
    def of(cls, job: Job, posterior: Posterior) -> PublicKnowledge:
        graph, transition = job.graph, transition_of(job)
        # Where labels are private, structure has learned from training users' reports already: they do not count again.
        prior = np.maximum(posterior.rows, SMALLEST)
        prior /= prior.sum(axis=1, keepdims=True)
        group = Group.of(graph, graph.validation)
        folds = np.random.default_rng([job.seed, COINS, 1]).permutation(group.size) % 2
        judges = learn.Judges(group, group.rows(graph.labels), folds, transition)
        return cls(graph, prior, judges)

    def metric(self, rows: NDArray[np.floating]) -> float:
        """The graph's metric on validation users."""
        judges = self.judges
        theirs = judges.group.rows(rows).astype(np.float32)
        return validation_quality(self.graph, theirs, judges.transition, judges.labels)[0]

    def targets(self, about: str) -> Floats:
        """What a model is to predict of each user: the own class, or the classes of the neighbours."""
        if about == "self":
            return self.prior
        near: Floats = learn.edge_operators(self.graph)["mean"] @ self.prior
        lonely = near.sum(axis=1) == 0
        near[lonely] = mean_of_all(self.graph, self.prior)
        near /= near.sum(axis=1, keepdims=True)
        return near


def teacher_of(job: Job) -> str:
    """Who teaches the model."""
    teach: str = job.settings.teach
    if teach != AUTO:
        return teach
    return "private" if job.graph.panel is None else "panel"


def open_of(job: Job) -> tuple[int, bool]:
    """How many classes are left open for a user, and whether what the graph says of them is added on the device."""
    epsilon, classes = job.budgets.epsilon, job.graph.class_count
    assert epsilon is not None
    usual, offset = usually_open(epsilon, classes)
    return usual if job.settings.open == AUTO else min(int(job.settings.open), classes), offset


def usually_open(epsilon: float, classes: int) -> tuple[int, bool]:
    """How many of a graph's classes are left open at a budget, and whether what the graph says of them is added.

    >>> usually_open(1.0, 4), usually_open(1.0, 7), usually_open(4.0, 7)
    ((4, False), (2, False), (5, True))
    """
    count, offset = next((count, offset) for most, count, offset in OPEN if epsilon < most)
    return classes if classes <= ALL_OPEN else min(count, classes), offset


def answers_evidence(
    job: Job, known: PublicKnowledge, model: PublicModel | None, teachers: Whole, watch: Stopwatch
) -> tuple[Floats, Floats, int]:
    """What volunteers' own rows and everybody's answers say of each class (n x C), the same for two folds, and how many were asked."""
    graph = job.graph
    evidence = np.zeros((graph.node_count, graph.class_count))
    if model is not None and model.own is not None and graph.panel is not None:
        evidence[graph.panel.users] = model.own
    by_fold = np.stack([evidence, evidence])
    if model is None or job.unasked:
        return evidence, by_fold, 0
    users = asked_users(job, known, teachers, model.about)
    count = Group.of(graph, users).size
    if not count:
        return evidence, by_fold, 0
    with watch.stage("report"):
        job.say("asking for classes", 0.0)
        asked = _ask(job, known, model, users)
    with watch.stage("denoise"):
        if not Group.of(graph, asked.users).size:
            return evidence, by_fold, count
        judged, told = _judged(known, asked, model.about)
        folded, whole = learn.class_evidence(asked, judged, graph.class_count, told)
        spread = _spread_to(graph, asked.users, model.about)
        evidence = evidence + spread(whole)
        by_fold = by_fold + np.stack([spread(each) for each in folded])
    return evidence, by_fold, count


def asked_users(job: Job, known: PublicKnowledge, teachers: Whole, about: str) -> Whole:
    """Who is asked for a class: not those who have taught, nor those whose own class is known already; validation users always are."""
    graph = job.graph
    may = np.ones(graph.node_count, dtype=bool)
    may[teachers] = False
    if graph.panel is not None:
        may[graph.panel.users] = False
    if job.label_mechanism is None and about == "self":
        may[graph.train] = False
    users = np.flatnonzero(may)
    if job.settings.asked < 1:
        group = Group.of(graph, users)
        certainty = group.rows(known.prior.max(axis=1))
        rank = np.argsort(np.round(certainty, DIGITS) if shared_alone(job) else certainty, kind="stable")
        chosen = np.zeros(group.size, dtype=bool)
        chosen[rank[: math.ceil(job.settings.asked * group.size)]] = True
        users = users[chosen[group.places] | graph.validation[users]]
    return users


def _ask(job: Job, known: PublicKnowledge, model: PublicModel, users: Whole) -> ClassAnswers:
    """Ask for classes, and put what was answered beside what was asked."""
    count, add = open_of(job)
    targets = known.targets(model.about)
    expected = targets[users]
    lists = np.argsort(-expected, axis=1, kind="stable")[:, :count]
    logs = np.log(np.maximum(np.take_along_axis(expected, lists, axis=1), SMALLEST))
    # Of neighbours the question is whether there are more of a class than the graph says. Scores are without the classes' shares.
    if model.about == "neighbours":
        logs = np.log(np.maximum(mean_of_all(job.graph, targets), SMALLEST))[lists] - logs
    plan = class_plan(job, model, users, lists, logs if add or model.about == "neighbours" else None)
    reports = job.users.report(plan)
    assert job.budgets.epsilon is not None
    least = 1 / (math.exp(job.budgets.epsilon) + count - 1)
    who = reports.places
    return learn.ClassAnswers(
        users[who],
        lists[who],
        reports.codes.astype(np.int64),
        known.prior[users[who]].max(axis=1),
        least,
    )


def class_plan(job: Job, model: PublicModel, users: Whole, lists: Whole, logs: Floats | None) -> Plan:
    """The question for a class, with what each user is asked beyond the model."""
    public = job.graph.public_range
    assert public is not None
    offsets = None
    if logs is not None:
        most = model.model.largest_offset
        offsets = np.clip(np.rint(model.scale * logs), -most, most).astype(np.int64)
    return Plan(
        mechanism="krr",
        epsilon=job.budgets.epsilon,
        of="class",
        round=2 if teacher_of(job) == "private" else 1,
        users=tuple(users.tolist()),
        dims=job.graph.feature_count,
        range=(public.low, public.high),
        classes=lists.shape[1],
        model=model.model,
        lists=lists,
        offsets=offsets,
    )


def _judged(known: PublicKnowledge, asked: ClassAnswers, about: str) -> tuple[Judged, ClassAnswers]:
    """Answers beside what is known of the classes that they tell of: of validation users, or of those among the neighbours.

    Both are those of all workers: who judges, and the answers that are judged.
    """
    judges, graph = known.judges, known.graph
    group = judges.group
    likely = np.zeros((group.size, graph.class_count))
    if judges.transition is None:
        likely[np.arange(group.size), judges.labels] = 1.0
    else:
        likely = group.rows(known.prior) * judges.transition[:, judges.labels].T
    # What each user who is here has answered, as one row of whole numbers, -1 for who has not; and how certain the class was.
    told = np.full((graph.node_count, 1 + asked.lists.shape[1]), -1)
    told[asked.users] = np.column_stack([asked.places, asked.lists])
    certainty = np.zeros(graph.node_count)
    certainty[asked.users] = asked.certainty
    if about == "self":
        who, told, certainty = group.places, told[group.users], certainty[group.users]
    else:
        counts, ends = graph.other_ends(group.users)
        who, told, certainty = np.repeat(group.places, counts), ends(told), ends(certainty)
    there = told[:, 0] >= 0
    who, told, certainty = (
        graph.collective.gather(np.ascontiguousarray(each[there])) for each in (who, told, certainty)
    )
    order = np.argsort(who, kind="stable")
    who, told, certainty = who[order], told[order], certainty[order]
    answers = np.arange(len(who))
    return (
        learn.Judged(answers, likely[who], judges.folds[who]),
        learn.ClassAnswers(answers, told[:, 1:], told[:, 0], certainty, asked.least),
    )


def _spread_to(graph: Graph, users: Whole, about: str) -> Callable[[Floats], Floats]:
    """What answers say of everybody's class: of those who answered, or of all their neighbours."""

    def own(told: Floats) -> Floats:
        whole = np.zeros((graph.node_count, told.shape[1]))
        whole[users] = told
        return whole

    if about == "self":
        return own
    operator = learn.edge_operators(replace(graph, weights=None))["mean"]
    return lambda told: graph.degrees[:, None] * (operator @ own(told))
