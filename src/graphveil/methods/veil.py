"""veil: send the question to the data. Every device evaluates a public model on its own row and reports the class, once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import learn
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import Group, mean_of_all
from graphveil.mechanisms import FeatureMechanism, PrivUnitMechanism
from graphveil.methods.job import Job, Questions, feature_plan, questions_of
from graphveil.methods.method import AUTO, Capabilities, Method
from graphveil.methods.structure import (
    Posterior,
    StructureSettings,
    scores_of,
    shared_alone,
    structure_posterior,
    transition_of,
    validation_quality,
)
from graphveil.methods.tasks import Outcome
from graphveil.methods.veil_model import (
    CentredRange,
    PublicModel,
    model_from_panel,
    model_from_reports,
    read_weights,
)
from graphveil.privacy import Plan
from graphveil.privacy.integer_model import integer_model

if TYPE_CHECKING:
    from graphveil.learn.class_answers import ClassAnswers, JudgedAnswers, PosteriorCandidate, ValidationUsers

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Numbers in a sketch up to ε = 2, and above. Chosen on validation users of seeds 100 and 101 from 128, 256, 512 and 1024.
FEW_BUDGET, SMALL_SKETCH, SKETCH = 2.0, 256, 512
# Users whose likeliest class is at least so likely may teach, at random; chosen on validation users of co-phy, co-cs and the town,
# seeds 100 to 102, from six ways to draw them. Up to ε = 2 they are as many of each class: of some twenty ways, most of them on seeds 100 to 102,
# the last five on seeds 100 to 104.
SURE = 0.8
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


class VeilSettings(StructureSettings):
    """Training of what graph and labels say, and how to ask."""

    teach: Literal["auto", "public", "panel", "private"] = Field(
        "auto",
        description="who teaches the model: public (a file), panel (volunteers), private (reports of a part of the users); "
        "auto: volunteers if there are any, else private",
    )
    weights: Path | None = Field(None, description="teach=public: the .npz file of weights")
    teachers: float = Field(
        0.5, gt=0, lt=1, description="teach=private: the share of users who teach, training users first"
    )
    about: Literal["auto", "self", "neighbours"] = Field(
        "auto",
        description="whose class is asked for: one's own, those of one's neighbours, or what a row tells more of",
    )
    open: Annotated[int, Field(ge=2)] | Literal["auto"] = Field(
        "auto",
        description="how many classes are left open for each user; auto: all of up to 4, else 2 to 5 by the budget",
    )
    sketch: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="teach=private with privunit: numbers in a sketch of a row; auto: 256 up to a budget of 2, else 512",
    )
    asked: float = Field(
        1.0, gt=0, le=1, description="the share of those who could be asked that is, the least certain first"
    )

    @property
    def files(self) -> tuple[Path, ...]:
        return () if self.weights is None else (self.weights,)


class Veil(Method):
    """Every device evaluates a small public model on its own row, and reports the class that comes out, by k-ary response
    among the two to five classes that the public graph leaves open.

    What graph and labels say (`structure`, calibrated) is where it starts and what it falls back to. The model comes from a file
    (``teach=public``), from volunteers' raw rows (``panel``), or from a part of the users who report a sketch of their row
    instead (``private``); users are divided, not budgets, so that everybody answers once at ε. Answers are decoded by how often
    validation users of each class give them, spread along edges, weighed, and used only where the loss of validation users is
    clearly lower with them.
    """

    name = "veil"
    summary = "a public model is evaluated on the own row, and the class that it gives is reported; falls back to structure"
    mechanism = "privunit"
    settings = VeilSettings
    can = Capabilities(tasks=("node",), panel=True, parts=True)

    def can_with(self, settings: Any, task: str = "node") -> Capabilities:
        if settings.teach in (AUTO, "panel"):
            return self.can
        why = f"uses no volunteers with teach={settings.teach}"
        return replace(self.can, panel=False, why_not={"panel": why})

    def check(self, job: Job) -> None:
        """Refuse a teacher who is not there, and mechanisms that cannot teach."""
        settings: VeilSettings = job.settings
        if settings.teach == "panel" and job.graph.panel is None:
            raise InputError(
                "teach=panel needs volunteers: give --panel N, or a graph file with a column panel"
            )
        if (settings.teach == "public") != (settings.weights is not None):
            raise InputError(
                "teach=public needs a file of weights, and only that does: give both, or neither"
            )
        if settings.weights is not None:
            read_weights(settings.weights, job.graph)
        _ = job.graph.feature_range
        if teacher_of(job) == "private" and not job.unasked:
            mechanism = job.questions.features[0].build()
            if not isinstance(mechanism, (FeatureMechanism, PrivUnitMechanism)) or not mechanism.unbiased:
                raise InputError(
                    f"{job.budgets.mechanism} gives no unbiased reports of rows to learn from: take privunit, multibit or piecewise"
                )

    def questions(self, job: Job) -> Questions:
        """Return the questions, with two halves of the users in the place of those who will answer.

        Which users answer which round follows from labels and graph; nobody answers both.
        """
        asked = questions_of(job)
        if job.unasked or job.graph.public_range is None or job.graph.class_count < 2:
            return asked
        half = job.graph.node_count // 2
        first, second = range(half), range(half, job.graph.node_count)
        public = job.graph.feature_range
        blank = _blank_model(job.graph.class_count, job.graph.feature_count, (public.low, public.high))
        lists = np.tile(np.arange(open_of(job)[0]), (len(second), 1))
        classes = class_plan(job, blank, np.array(second), lists, None)
        if teacher_of(job) != "private":
            return replace(asked, classes=(classes,))
        return replace(asked, features=(_teaching_plan(job, np.array(first)),), classes=(classes,))

    def learn(self, job: Job) -> Outcome:
        with job.stage("train"):
            posterior = structure_posterior(job, job.settings)
        return self.learn_from(job, posterior)

    def learn_from(self, job: Job, posterior: Posterior) -> Outcome:
        """Learn from a posterior that graph and labels gave before."""
        with job.stage("train"):
            known = PublicKnowledge.of(job, posterior)
        model, teachers = _taught(job, known)
        evidence, by_fold, asked = answers_evidence(job, known, model, teachers)
        with job.stage("train", "weighing answers"):
            ways = learn.with_answers(job.graph, known.prior, evidence, by_fold, known.judges)
            used = _best_of(ways, known, posterior, job.unasked)
        rows = posterior.raw if used is None else used.rows
        also = {"answers_used": float(used is not None), "asked_for_class": float(asked)}
        if model is not None and model.gain is not None:
            also["model_nats"] = model.gain
        detail = f"{posterior.detail}; answers were not clearly better" if used is None else used.detail
        return Outcome(
            scores_of(rows.astype(np.float32), several=False),
            float(known.judges.losses(np.asarray(rows, dtype=np.float64)).mean()),
            float((known.judges.group.rows(rows.argmax(axis=1)) == known.judges.labels).mean()),
            detail=detail,
            embedding=learn.log_rows(np.asarray(rows, dtype=np.float64)).astype(np.float32),
            also=also,
        )


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """The knowledge of a server before anybody is asked about a row.

    It consists of calibrated probabilities and of the validation users who judge.
    """

    graph: Graph
    prior: Floats
    judges: ValidationUsers

    @classmethod
    def of(cls, job: Job, posterior: Posterior) -> PublicKnowledge:
        graph, transition = job.graph, transition_of(job)
        # Where labels are private, structure has learned from training users' reports already: they do not count again.
        prior = np.maximum(posterior.rows, SMALLEST)
        prior /= prior.sum(axis=1, keepdims=True)
        group = Group.of(graph, graph.validation)
        folds = np.random.default_rng([job.seed, COINS, 1]).permutation(group.size) % 2
        judges = learn.ValidationUsers(group, group.rows(graph.labels), folds, transition)
        return cls(graph, prior, judges)

    def metric(self, rows: NDArray[np.floating]) -> float:
        """The graph's metric on validation users."""
        judges = self.judges
        theirs = judges.group.rows(rows).astype(np.float32)
        return validation_quality(self.graph, theirs, judges.transition, judges.labels)[0]

    def targets(self, about: str) -> Floats:
        """Return what a model is to predict of each user: the user's class, or the classes of the neighbours."""
        if about == "self":
            return self.prior
        near: Floats = learn.edge_operators(self.graph)["mean"] @ self.prior
        lonely = near.sum(axis=1) == 0
        near[lonely] = mean_of_all(self.graph, self.prior)
        near /= near.sum(axis=1, keepdims=True)
        return near


def teacher_of(job: Job) -> str:
    """Return the source that the model is taught from, as the setting ``teach`` names it."""
    teach: str = job.settings.teach
    if teach != AUTO:
        return teach
    return "private" if job.graph.panel is None else "panel"


def open_of(job: Job) -> tuple[int, bool]:
    """Return how many classes are left open for a user, and whether the device adds the graph's scores."""
    classes = job.graph.class_count
    usual, offset = usually_open(job.epsilon, classes)
    return usual if job.settings.open == AUTO else min(int(job.settings.open), classes), offset


def usually_open(epsilon: float, classes: int) -> tuple[int, bool]:
    """Return how many classes are left open at a budget, and whether what the graph says of them is added.

    >>> usually_open(1.0, 4), usually_open(1.0, 7), usually_open(4.0, 7)
    ((4, False), (2, False), (5, True))
    """
    count, offset = next((count, offset) for most, count, offset in OPEN if epsilon < most)
    return classes if classes <= ALL_OPEN else min(count, classes), offset


def _best_of(
    ways: list[PosteriorCandidate], known: PublicKnowledge, posterior: Posterior, unasked: bool
) -> PosteriorCandidate | None:
    """The way of the lowest loss, if answers clearly help in any; where nobody is asked, if anything does that the server can do."""
    before = known.metric(posterior.raw)
    if unasked:
        ways = [replace(way, beside=known.prior) for way in ways]
    helped = [way for way in ways if learn.clearly_better(way, known.judges, known.metric, before)]
    if not helped:
        return None
    return ways[0] if known.metric(ways[0].rows) >= before else helped[0]


def _taught(job: Job, known: PublicKnowledge) -> tuple[PublicModel | None, Whole]:
    """The public model, and who has answered to teach it; no model where nobody is there who could."""
    graph, settings, nobody = job.graph, job.settings, np.empty(0, dtype=np.int64)
    teacher = teacher_of(job)
    if teacher == "public":
        return read_weights(settings.weights, graph), nobody
    if teacher == "panel":
        with job.stage("train", "learning from volunteers"):
            return model_from_panel(graph, known.targets, settings.about, job.seed), nobody
    few = job.epsilon <= FEW_BUDGET
    # Chosen for sketches alone: where a few values are told, and noise is large, it matters most that classes are right.
    drawn = None if few and job.budgets.mechanism != "privunit" else job.seed
    teachers = teaching_users(
        graph, known.prior, settings.teachers, drawn, even=few, shared=shared_alone(job)
    )
    reports = job.ask(_teaching_plan(job, teachers), doing="first round")
    with job.stage("train"):
        if int(graph.collective.sum(np.array([reports.users]))[0]) == 0:
            return None, teachers
        return model_from_reports(reports, graph, known.targets, teachers, settings.about), teachers


def teaching_users(
    graph: Graph, prior: Floats, share: float, seed: int | None, *, even: bool = False, shared: bool = False
) -> Whole:
    """Return the users who teach: all training users, and others up to a share; never those who validate.

    Others are drawn from all whose class is nearly certain, so that they are not all of one kind, where there
    are enough of them; else, and without a seed, they are the most certain ones.

    Parameters
    ----------
    prior
        The probabilities of the classes: (users, classes).
    share
        The share of all users that teaches.
    even
        Draw as many of each likeliest class as there are, up to a number that is the same for all: where
        noise is large, the mean row of a rare class is what is known least.
    shared
        Whether workers shared the learning of the prior, or could have, so that sums were rounded in another
        order: then a last digit decides nothing, and each user has their own coin.
    """
    trained = np.flatnonzero(graph.train)
    missing = round(share * graph.total_count) - graph.count(graph.train)
    if missing <= 0:
        return trained
    others = Group.of(graph, ~graph.train & ~graph.validation)
    rows = others.rows(prior)
    certainty = rows.max(axis=1)
    order = np.argsort(-(np.round(certainty, DIGITS) if shared else certainty), kind="stable")
    sure = int((certainty >= SURE).sum())
    if seed is not None and sure > missing:
        coins = np.random.default_rng([seed, COINS, 3])
        if shared or even:
            drawn = coins.permutation(others.size)
            order = drawn[certainty[drawn] >= SURE]
        else:
            order = coins.permutation(order[:sure])
        if even:
            order = order[np.argsort(_places(rows[order].argmax(axis=1)), kind="stable")]
    chosen = np.zeros(others.size, dtype=bool)
    chosen[order[:missing]] = True
    return np.sort(np.concatenate([trained, others.users[chosen[others.places]]]))


def _places(classes: Whole) -> Whole:
    """Count those of the same class that come before each.

    >>> _places(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    places = np.empty(len(classes), dtype=np.int64)
    places[order] = np.arange(len(classes)) - np.searchsorted(ordered, ordered)
    return places


def _teaching_plan(job: Job, users: Whole) -> Plan:
    """The question by which some users teach: a sketch of the row by privunit, or its values by another mechanism."""
    chosen = tuple(users.tolist())
    if job.budgets.mechanism != "privunit":
        return feature_plan(job, users=chosen)
    graph, around = job.graph, CentredRange.of(job.graph)
    usual = SMALL_SKETCH if job.epsilon <= FEW_BUDGET else SKETCH
    size = usual if job.settings.sketch == AUTO else int(job.settings.sketch)
    coin = int(np.random.default_rng([job.seed, COINS, 2]).integers(1 << 53))
    sketch = {"inputs": graph.feature_count, "hash_seed": coin, "centre": around.centre}
    return feature_plan(job, users=chosen, dims=min(size, graph.feature_count), options=sketch)


@cache
def _blank_model(classes: int, features: int, public: tuple[float, float]) -> PublicModel:
    """Return a model that says nothing, in place of one that is not known yet."""
    return PublicModel(*integer_model(np.zeros((classes, features)), np.zeros(classes), public))


def answers_evidence(
    job: Job, known: PublicKnowledge, model: PublicModel | None, teachers: Whole
) -> tuple[Floats, Floats, int]:
    """Return the evidence for each class (n x C), the same for two folds, and how many users were asked.

    It comes from volunteers' own rows and from everybody's answers.

    Parameters
    ----------
    known
        What the server knows before.
    model
        The public model, if there is one.
    teachers
        Those who have taught it.
    """
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
    asked = _ask(job, known, model, users)
    with job.stage("denoise"):
        if not Group.of(graph, asked.users).size:
            return evidence, by_fold, count
        judged, told = _judged(known, asked, model.about)
        folded, whole = learn.class_evidence(asked, judged, graph.class_count, told)
        spread = _spread_to(graph, asked.users, model.about)
        evidence = evidence + spread(whole)
        by_fold = by_fold + np.stack([spread(each) for each in folded])
    return evidence, by_fold, count


def asked_users(job: Job, known: PublicKnowledge, teachers: Whole, about: str) -> Whole:
    """Return the users who are asked for a class; validation users always are.

    Users who have taught, and those whose own class is known already, are not asked.

    Parameters
    ----------
    known
        What the server knows before.
    teachers
        Those who have taught.
    about
        "self" or "neighbours": whose class is asked for.
    """
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
    reports = job.ask(plan, doing="asking for classes")
    least = 1 / (math.exp(job.epsilon) + count - 1)
    who, codes = users[reports.places], reports.codes.astype(np.int64)
    return learn.ClassAnswers(who, lists[reports.places], codes, known.prior[who].max(axis=1), least)


def class_plan(job: Job, model: PublicModel, users: Whole, lists: Whole, logs: Floats | None) -> Plan:
    """Return the question for a class, with what each user is asked beyond the model.

    Parameters
    ----------
    model
        The public model that users apply to their rows.
    users
        The users who are asked.
    lists
        The classes that are left open for each: (users, K) int64.
    logs
        Logarithms that are added to the model's scores of these classes, or None: (users, K).
    """
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
        range=astuple(job.graph.feature_range),
        classes=lists.shape[1],
        model=model.model,
        lists=lists,
        offsets=offsets,
    )


def _judged(known: PublicKnowledge, asked: ClassAnswers, about: str) -> tuple[JudgedAnswers, ClassAnswers]:
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
        learn.JudgedAnswers(answers, likely[who], judges.folds[who]),
        learn.ClassAnswers(answers, told[:, 1:], told[:, 0], certainty, asked.least),
    )


def _spread_to(graph: Graph, users: Whole, about: str) -> Callable[[Floats], Floats]:
    """Return a function from answers to evidence about classes: of the answering users or their neighbours."""

    def own(told: Floats) -> Floats:
        whole = np.zeros((graph.node_count, told.shape[1]))
        whole[users] = told
        return whole

    if about == "self":
        return own
    operator = learn.edge_operators(replace(graph, weights=None))["mean"]
    return lambda told: graph.degrees[:, None] * (operator @ own(told))
