"""veil: send the question to the data. Every device evaluates a public model on its own row and reports the class, once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import learn
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import Group
from graphveil.mechanisms import FeatureMechanism, PrivUnitMechanism
from graphveil.methods.job import Job, Questions, feature_plan, questions_of
from graphveil.methods.method import AUTO, Capabilities, Method
from graphveil.methods.structure import StructureSettings, scores_of, shared_alone
from graphveil.methods.structure_posterior import Posterior, structure_posterior
from graphveil.methods.tasks import Outcome, Stopwatch
from graphveil.methods.veil_answers import (
    COINS,
    DIGITS,
    PublicKnowledge,
    answers_evidence,
    class_plan,
    open_of,
    teacher_of,
)
from graphveil.methods.veil_model import Around, PublicModel, read_weights, taught_by_panel, taught_by_reports
from graphveil.privacy import Plan
from graphveil.privacy.integer_model import integer_model

if TYPE_CHECKING:
    from graphveil.learn.class_answers import Answered

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Numbers in a sketch up to ε = 2, and above. Chosen on validation users of seeds 100 and 101 from 128, 256, 512 and 1024.
FEW_BUDGET, SMALL_SKETCH, SKETCH = 2.0, 256, 512
# Users whose likeliest class is at least so likely may teach, at random; chosen on validation users of co-phy, co-cs and the town,
# seeds 100 to 102, from six ways to draw them. Up to ε = 2 they are as many of each class: of some twenty ways, most of them on seeds 100 to 102,
# the last five on seeds 100 to 104.
SURE = 0.8


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
        return replace(
            self.can, panel=False, why_not={"panel": f"uses no volunteers with teach={settings.teach}"}
        )

    def public_files(self, settings: Any) -> tuple[Path, ...]:
        return () if settings.weights is None else (settings.weights,)

    def check(self, job: Job) -> None:
        """Refuse a teacher who is not there, and mechanisms that cannot teach."""
        settings: VeilSettings = job.settings
        if settings.teach == "panel" and job.graph.panel is None:
            raise InputError(
                "teach=panel needs volunteers: give --panel N, a graph file with a column panel, or take teach=private"
            )
        if (settings.teach == "public") != (settings.weights is not None):
            raise InputError(
                "teach=public needs a file of weights, and only that does: give both, or neither"
            )
        if settings.weights is not None:
            read_weights(settings.weights, job.graph)
        if job.graph.feature_count == 0:
            raise InputError(f"{job.graph.name} has no features to ask about: take structure")
        if teacher_of(job) == "private" and not job.unasked:
            mechanism = job.questions.features[0].build()
            if not isinstance(mechanism, (FeatureMechanism, PrivUnitMechanism)) or not mechanism.unbiased:
                raise InputError(
                    f"veil learns its model from unbiased reports of rows, which {job.budgets.mechanism} does not give: take privunit, "
                    "multibit or piecewise, or another teacher"
                )

    def questions(self, job: Job) -> Questions:
        """Who answers which round follows from labels and graph; here two halves stand for them, as nobody answers both."""
        asked = questions_of(job)
        if job.unasked or job.graph.public_range is None or job.graph.class_count < 2:
            return asked
        half = job.graph.node_count // 2
        first, second = range(half), range(half, job.graph.node_count)
        blank = _blank_model(job.graph)
        lists = np.tile(np.arange(open_of(job)[0]), (len(second), 1))
        classes = class_plan(job, blank, np.array(second), lists, None)
        if teacher_of(job) != "private":
            return replace(asked, classes=(classes,))
        return replace(asked, features=(_teaching_plan(job, np.array(first)),), classes=(classes,))

    def learn(self, job: Job) -> Outcome:
        watch = Stopwatch()
        with watch.stage("train"):
            posterior = structure_posterior(job, job.settings)
        return self.learn_from(job, posterior, watch)

    def learn_from(self, job: Job, posterior: Posterior, watch: Stopwatch) -> Outcome:
        """The same, from what graph and labels say of everybody."""
        with watch.stage("train"):
            known = PublicKnowledge.of(job, posterior)
        model, teachers = _taught(job, known, watch)
        evidence, by_fold, asked = answers_evidence(job, known, model, teachers, watch)
        with watch.stage("train"):
            job.say("weighing answers", 0.0)
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
            watch.seconds,
            detail,
            embedding=learn.log_rows(np.asarray(rows, dtype=np.float64)).astype(np.float32),
            also=also,
        )


def _best_of(
    ways: list[Answered], known: PublicKnowledge, posterior: Posterior, unasked: bool
) -> Answered | None:
    """The way of the lowest loss, if answers clearly help in any; where nobody is asked, if anything does that the server can do."""
    before = known.metric(posterior.raw)
    if unasked:
        ways = [replace(way, beside=known.prior) for way in ways]
    helped = [way for way in ways if learn.clearly_better(way, known.judges, known.metric, before)]
    if not helped:
        return None
    return ways[0] if known.metric(ways[0].rows) >= before else helped[0]


def _taught(job: Job, known: PublicKnowledge, watch: Stopwatch) -> tuple[PublicModel | None, Whole]:
    """The public model, and who has answered to teach it; no model where nobody is there who could."""
    graph, settings, nobody = job.graph, job.settings, np.empty(0, dtype=np.int64)
    teacher = teacher_of(job)
    if teacher == "public":
        return read_weights(settings.weights, graph), nobody
    if teacher == "panel":
        with watch.stage("train"):
            job.say("learning from volunteers", 0.0)
            return taught_by_panel(graph, known.targets, settings.about, job.seed), nobody
    assert job.budgets.epsilon is not None
    few = job.budgets.epsilon <= FEW_BUDGET
    # Chosen for sketches alone: where a few values are told, and noise is large, it matters most that classes are right.
    drawn = None if few and job.budgets.mechanism != "privunit" else job.seed
    teachers = teaching_users(
        graph, known.prior, settings.teachers, drawn, even=few, shared=shared_alone(job)
    )
    with watch.stage("report"):
        job.say("first round", 0.0)
        reports = job.users.report(_teaching_plan(job, teachers))
    with watch.stage("train"):
        if int(graph.collective.sum(np.array([reports.users]))[0]) == 0:
            return None, teachers
        return taught_by_reports(reports, graph, known.targets, teachers, settings.about), teachers


def teaching_users(
    graph: Graph, prior: Floats, share: float, seed: int | None, *, even: bool = False, shared: bool = False
) -> Whole:
    """Who teaches: all training users, and others up to that share; never those who validate.

    Others are drawn by the seed from all whose class is nearly certain, so that they are not all of one kind, where there are
    enough of them; else, and without a seed, they are the most certain ones. With ``even``, as many are drawn of each likeliest class as there are, up to a number that
    is the same for all: where noise is large, the mean row of a rare class is what is known least. Where workers ``shared`` the
    learning of what is certain, or could have, sums were rounded in another order: then a last digit decides nothing, and everybody
    has a coin of the own.
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
    """How many of the same class come before each.

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
    graph, around = job.graph, Around.of(job.graph)
    assert job.budgets.epsilon is not None
    usual = SMALL_SKETCH if job.budgets.epsilon <= FEW_BUDGET else SKETCH
    size = usual if job.settings.sketch == AUTO else int(job.settings.sketch)
    coin = int(np.random.default_rng([job.seed, COINS, 2]).integers(1 << 53))
    sketch = {"inputs": graph.feature_count, "hash_seed": coin, "centre": around.centre}
    return feature_plan(job, users=chosen, dims=min(size, graph.feature_count), options=sketch)


@cache
def _blank(classes: int, features: int, public: tuple[float, float]) -> PublicModel:
    model, scale = integer_model(np.zeros((classes, features)), np.zeros(classes), public)
    return PublicModel(model, scale)


def _blank_model(graph: Graph) -> PublicModel:
    """A model that says nothing, in place of one that is not known yet."""
    assert graph.public_range is not None
    return _blank(graph.class_count, graph.feature_count, (graph.public_range.low, graph.public_range.high))
