"""heterorr: a budget divided over attributes, by how much they matter and how sensitive they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.channels.graded import MAX_BINS
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.mechanisms import Reports
from graphveil.methods.attribute_file import read_attribute_numbers
from graphveil.methods.attribute_shares import Numbers, attribute_shares, largest_shares, rounded_shares
from graphveil.methods.job import Job
from graphveil.methods.method import Method, register_method
from graphveil.methods.outcome import Outcome, Stopwatch
from graphveil.methods.scoring import ScoringSettings, attribute_scores, null_scores
from graphveil.methods.training import train_backbone
from graphveil.privacy import Plan

if TYPE_CHECKING:
    from graphveil.learn.topology import Topology

MECHANISM = "featurerr"
# What round 1 asks with: of all d values some, as FEATURERR cannot.
ROUND_MECHANISM = "piecewise"
FLAT, ROUND, ALL, AUTO = "flat", "round", "all", "auto"
# bins=auto: as many as the values have, or what the document's error figure has.
BINARY_BINS, USUAL_BINS = 2, 10
# keep=auto: so many attributes for each class.
KEPT_OF_A_CLASS = 2


class HeterorrSettings(ScoringSettings):
    """Training, the scale of the input, the analysis of round 1, and how the budget is divided."""

    gamma: float = Field(
        0.5,
        ge=0,
        le=1,
        description="γ, the part of the budget that follows importance; the rest follows sensitivity",
    )
    importance: str = Field(
        ROUND,
        min_length=1,
        description="how much attributes matter: flat, round (a private round before, by the analysis), or a public file",
    )
    importance_share: float = Field(
        0.5, gt=0, lt=1, description="the part of the budget for the round that finds what matters"
    )
    sensitivity: str = Field(
        FLAT,
        min_length=1,
        description="how sensitive attributes are: flat, or a public file of the operator's numbers",
    )
    keep: Annotated[int, Field(ge=1)] | Literal["all", "auto"] = Field(
        AUTO,
        description="how many attributes share the budget: those of the largest shares, all as printed, or auto",
    )
    bins: Annotated[int, Field(ge=2, le=MAX_BINS)] | Literal["auto"] = Field(
        AUTO, description="k, bins of the range; auto: 2 where values are binary, else 10"
    )
    decoding: Literal["printed", "debiased"] = Field(
        "debiased",
        description="bins as their upper edges, which is biased, as printed; or with the response divided out",
    )
    learn_from: Literal["both", "second"] = Field("both", description="x")
    hops: int = Field(
        4, ge=0, description="hops of KProp on the reports that are learned from; 0: none, as printed"
    )


class Heterorr(Method):
    """x"""

    name = "heterorr"
    summary = "a budget divided over attributes by importance and sensitivity (FEATURERR), then a GNN"
    mechanism = MECHANISM
    settings = HeterorrSettings
    several_tasks = True

    def holds_dense(self, settings: Any, task: str) -> bool:
        """FEATURERR answers every value, even where most answers are blind."""
        return True

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        """A round for importance where it is asked for, then FEATURERR with the rest; how that is divided costs nothing."""
        settings, whole = job.settings, job.budgets.epsilon
        assert whole is not None
        _check_mechanism(job)
        options = {"bins": _bins(job), "debiased": settings.decoding == "debiased"}
        if settings.importance != ROUND:
            return (job.feature_plan(options=options),)
        first = settings.importance_share * whole
        asked_before = replace(job, budgets=replace(job.budgets, mechanism=ROUND_MECHANISM))
        return asked_before.feature_plan(first), job.feature_plan(whole - first, round=2, options=options)

    def prepare(self, job: Job) -> None:
        """Refuse a matrix that is too large, files that do not fit, and more attributes than there are."""
        graph, keep = job.graph, job.settings.keep
        what = f"{MECHANISM} asks for every value, so what is reported"
        learn.refuse_above(
            job.max_memory,
            (graph.node_count, graph.feature_count),
            what,
            "take a method that samples, like togl",
        )
        if isinstance(keep, int):
            check_whole(keep, "keep", least=1, most=graph.feature_count, why="the number of attributes")
        _public_numbers(job, "importance")
        _public_numbers(job, "sensitivity")

    def learn(self, job: Job) -> Outcome:
        settings: HeterorrSettings = job.settings
        watch, topology = Stopwatch(), learn.Topology(job.graph, job.device)
        *before, last = job.questions.features
        with watch.stage("report"):
            job.say("reporting", 0.0)
            first = [job.users.report(plan) for plan in before]
        with watch.stage("denoise"):
            shares = _divided(job, topology, first)
        with watch.stage("report"):
            asked = last.model_dump(exclude_none=True)
            asked["options"] = {**asked["options"], "shares": shares.tolist()}
            reports = job.users.report(Plan(**asked))
        with watch.stage("denoise"):
            import os
            from graphveil.learn.divided import both_input
            if first and settings.learn_from == "both":
                inputs = both_input(first[0], reports, np.flatnonzero(shares), settings.input_share, job.device)
            else:
                inputs = learn.divided_input(
                    reports,
                    np.flatnonzero(shares),
                    settings.input_share,
                    by_precision=settings.decoding == "debiased",
                    device=job.device,
                    max_memory=job.max_memory,
                )
            hops = denoise.KProp(settings.hops).operator(topology.unlooped)
        return train_backbone(
            job, linear.Composition(hops, inputs) if settings.hops else inputs, watch, topology
        )


def _divided(job: Job, topology: Topology, first: list[Reports]) -> Numbers:
    """The share of the budget that every attribute gets."""
    settings: HeterorrSettings = job.settings
    sensitivity = _public_numbers(job, "sensitivity")
    importance = _found(job, topology, first[0]) if first else _public_numbers(job, "importance")
    shares = attribute_shares(importance, sensitivity, settings.gamma)
    keep = KEPT_OF_A_CLASS * job.graph.class_count if settings.keep == AUTO else settings.keep
    return rounded_shares(shares if keep == ALL else largest_shares(shares, int(keep)))


def _found(job: Job, topology: Topology, reports: Reports) -> Numbers:
    """How much attributes matter by the reports of round 1: their scores above those of attributes that say nothing."""
    job.say("scoring attributes", 0.0)
    scores = attribute_scores(job, topology, reports)
    return learn.signal(scores, null_scores(job, topology, reports))


def _public_numbers(job: Job, which: Literal["importance", "sensitivity"]) -> Numbers:
    """Importance or sensitivity of all attributes where it is flat or in a file; flat where a round will tell."""
    source, attributes = getattr(job.settings, which), job.graph.feature_count
    if source in (FLAT, ROUND):
        return np.ones(attributes)
    return read_attribute_numbers(source, attributes, which)


def _bins(job: Job) -> int:
    bins = job.settings.bins
    if bins != AUTO:
        return int(bins)
    return BINARY_BINS if job.graph.binary else USUAL_BINS


def _check_mechanism(job: Job) -> None:
    if job.budgets.mechanism != MECHANISM:
        raise InputError(
            f"heterorr divides a budget over attributes, which {MECHANISM} alone can: leave the mechanism out, or take base "
            f"for {job.budgets.mechanism}"
        )


register_method(Heterorr())
