"""togl: ask first which attributes matter for the task, then spend the rest of the budget there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeGuard

import numpy as np
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.mechanisms import Mechanism, Reports
from graphveil.mechanisms.features import ValueMechanism, value_mechanism
from graphveil.mechanisms.registry import takes_levels
from graphveil.methods.job import Job, Questions, feature_plan, questions_of, with_options
from graphveil.methods.method import AUTO, TRAINING_GRID, Capabilities, Grid, Method, Tuned, train_backbone
from graphveil.methods.scoring import ScoringSettings, attribute_scores, null_scores
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Plan

if TYPE_CHECKING:
    from graphveil.learn.attributes import Target
    from graphveil.learn.topology import Topology


class ToglSettings(ScoringSettings):
    """Training, the scale of the input, the two rounds, and the analysis between them."""

    split: Annotated[float, Field(gt=0, lt=1)] | Literal["auto"] = Field(
        0.5,
        description="share of the budget for round 1, or auto: by expected error, before anybody is asked",
    )
    rho: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] = Field(
        "auto",
        description="share of round 2's answers about the best attributes, or auto: by expected error",
    )
    pool: Annotated[int, Field(ge=1)] | Literal["top", "auto"] = Field(
        "auto",
        description="how many attributes are the best: T, top (as many as everybody answers, as printed) or auto",
    )
    hops: int = Field(3, ge=0, description="K', hops of KProp on the reports that are learned from; 0: none")
    m_from: Literal["round", "total"] = Field(
        "round",
        description="whether the number of values asked follows from a round's budget or from the whole one",
    )
    learn_from: Literal["both", "second"] = Field(
        "both", description="learn from the reports of both rounds, or of the second alone as printed"
    )
    columns: Literal["precision", "unbiased"] = Field(
        "precision",
        description="attributes as inputs: by their precision, or as unbiased estimates as printed",
    )
    hidden: int = Field(64, ge=1, description="columns of the hidden layer")
    epochs: int = Field(300, ge=1, description="epochs at most")


class Togl(Method):
    """Task-oriented graph learning (TOGL): target before you perturb.

    Round 1 asks everybody for some values with a part of the budget. The server averages the reports over K hops and scores
    every attribute by what training users' labels say (FDA, SMA, mutual information, χ², PCA). Round 2 spends the rest of the
    budget: as printed (``pool=top``) everybody answers the ⌊ρm⌋ best attributes and draws the others, each scaled so that
    estimates stay unbiased. With m = 1 that means all of them or none, so here a pool of T attributes gets a share ρ of the
    answers. By default T and ρ have the smallest expected error, from the scores of round 1 and from what scores attributes that
    say nothing would get: the server draws such rounds itself, with the blind mechanism.

    ``learn_from=both`` also learns from round 1, whose budget is spent anyway. As printed: --set pool=top --set rho=0.5 --set
    learn_from=second --set columns=unbiased --set m_from=total --set hops=0 --set analysis=sma --set activation=relu, and a
    dropout of at most 0.1 (TC: rho=1, TD: rho=0; TOGL*: hops=3).

    Where links are predicted, attributes are scored by how well products of two users' values tell linked pairs from others
    (Fisher's criterion over pairs), whatever the analysis.
    """

    name = "togl"
    summary = "two rounds: find the attributes that matter for the task, then ask those more often"
    mechanism = "piecewise"
    settings = ToglSettings
    can = Capabilities(levels=6, norms=True, first_round_known=True, new_users=True)
    tuned: ClassVar[Tuned] = {"node": {"pubmed": {"hops": 8}}, "link": {}}
    # K and ρ are the document's, which takes K' = 3 where it denoises; "auto" and the other K' are ours.
    grid: ClassVar[Grid] = TRAINING_GRID | {
        "analysis": ("fda", "sma"),
        "analysis_hops": (0, 1, 2, 3, 4, 5),
        "hops": (0, 3, 4, 8),
        "rho": ("auto", 0.0, 0.3, 0.5, 0.7, 1.0),
    }

    def defaults(self, data: str, task: str, mechanism: str) -> dict[str, Any]:
        """Hops along links make linked users alike whatever they report, so that attributes are scored after one."""
        return {**({"analysis_hops": 1} if task == "link" else {}), **super().defaults(data, task, mechanism)}

    def check(self, job: Job) -> None:
        """Refuse mechanisms that cannot ask some attributes more often."""
        if job.settings.m_from == "total" and takes_levels(job.budgets.mechanism):
            raise InputError(
                f"m_from must be round with {job.budgets.mechanism}, whose levels ask for different numbers"
            )
        for plan in job.questions.features:
            _targetable(plan)
        pool, attributes = job.settings.pool, job.graph.feature_count
        if isinstance(pool, int):
            check_whole(pool, "pool", least=1, most=attributes, why="the number of attributes")

    def questions(self, job: Job) -> Questions:
        """Ask in two rounds; the attributes of the second are not known before the first, and cost nothing."""
        first, more = split_of(job) * job.epsilon, _asked(job)
        second = feature_plan(job, job.epsilon - first, round=2, **more)
        return questions_of(job, feature_plan(job, first, **more), second)

    def learn(self, job: Job) -> Outcome:
        settings: ToglSettings = job.settings
        topology = learn.Topology(job.graph, job.device)
        first, second = job.questions.features
        before = job.ask(first, doing="first round")
        with job.stage("denoise", "scoring attributes"):
            target = self._target(job, topology, before, second)
        reports = job.ask(with_options(second, **target.options), doing="second round")
        with job.stage("denoise"):
            used = [before, reports] if settings.learn_from == "both" else [reports]
            inputs = learn.rounds_input(used, settings.share, settings.columns, job.device)
            hops = denoise.KProp(settings.hops).operator(topology.unlooped)
        return train_backbone(job, linear.Composition(hops, inputs) if settings.hops else inputs, topology)

    def _target(self, job: Job, topology: Topology, first: Reports, second: Plan) -> Target:
        """Return the attributes that round 2 asks for, from the reports of round 1."""
        settings: ToglSettings = job.settings
        asked = _targetable(second).most
        scores = attribute_scores(job, topology, first.estimate())
        if settings.pool == "top":
            return learn.printed_target(scores, asked, 0.5 if settings.rho == AUTO else float(settings.rho))
        rho = None if settings.rho == AUTO else float(settings.rho)
        size = None if settings.pool == AUTO else int(settings.pool)
        if rho is not None and size is not None:
            return learn.pooled_target(scores, asked, rho, size)
        null = null_scores(job, topology, first)
        before = _known_before(first, second) if settings.learn_from == "both" else 0.0
        return learn.expected_target(scores, null, asked, before=before, rho=rho, size=size)


def split_of(job: Job) -> float:
    """The share of the budget for round 1: as set, or that with the smallest expected error by public quantities."""
    settings: ToglSettings = job.settings
    if settings.split != AUTO:
        return float(settings.split)
    graph = job.graph

    def at(share: float) -> learn.TargetRound | None:
        mechanism = feature_plan(job, share * job.epsilon, **_asked(job)).build()
        if not _can_target(mechanism):
            return None
        return learn.TargetRound(mechanism.most, mechanism.answer_square / mechanism.public.half_width**2)

    # Private links are not known before they are asked for.
    spread = settings.analysis_hops > 0 and not job.budgets.private_links
    reach = 1.0 + (float(graph.degrees.mean()) if spread else 0.0)
    heard = min(float(graph.node_count), max(1, int(graph.train.sum())) * reach)
    both = settings.learn_from == "both"
    # Shares are even steps from both ends, so that what one leaves is another one.
    rounds = [at(share) for share in learn.SPLITS]
    errors = [
        learn.expected_error(first, second, graph.feature_count, graph.class_count, heard, both=both)
        if first and second
        else math.inf
        for first, second in zip(rounds, reversed(rounds), strict=True)
    ]
    return learn.SPLITS[int(np.argmin(errors))]


def _known_before(first: Reports, second: Plan) -> float:
    """Return what is known of an attribute after round 1, as a probability of being asked in round 2.

    Asked with that probability, an attribute would be known as well.
    """
    asked_before, next_one = value_mechanism(first.mechanism), _targetable(second)
    return asked_before.most / asked_before.size * next_one.answer_square / asked_before.answer_square


def _asked(job: Job) -> dict[str, Any]:
    """Return the number of values that a round asks for, where it follows from the whole budget."""
    if job.settings.m_from == "round":
        return {}
    return {"sampled": _targetable(feature_plan(job)).most}


def _targetable(plan: Plan) -> ValueMechanism:
    """The mechanism of a plan, if it can ask some attributes more often than others."""
    mechanism = plan.build()
    if not _can_target(mechanism):
        raise InputError(
            f"togl needs a mechanism that asks for some of the values, which {plan.mechanism} does not with {plan.dims} of them at "
            f"epsilon {plan.epsilon:g}: set mechanism.sampled, give less epsilon, or take piecewise, multibit or square-wave"
        )
    return mechanism


def _can_target(mechanism: Mechanism) -> TypeGuard[ValueMechanism]:
    """Return whether a mechanism asks for some of the values, and can ask for some of them more often."""
    return isinstance(mechanism, ValueMechanism) and mechanism.shape.names_dimensions


class FirstRound(Togl):
    """togl's first round alone: with its share of the budget, or with the whole budget."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole

    def questions(self, job: Job) -> Questions:
        asked = super().questions(job)
        return replace(asked, features=(feature_plan(job),) if self.whole else asked.features[:1])
