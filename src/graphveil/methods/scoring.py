"""Scores of attributes for the task, from reports of a first round, and of attributes that say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from graphveil import denoise, learn
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import Estimate, PersonalMechanism, Reports
from graphveil.mechanisms.features import value_mechanism
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.tasks import LINK, graph_targets

if TYPE_CHECKING:
    from graphveil.learn.attribute_analysis import Scores
    from graphveil.learn.topology import Topology

# The server simulates rounds in which nobody tells anything until it has so many scores to compare with, or so many rounds.
NULL_SCORES, NULL_ROUNDS = 1000, 20
# Analyses whose score of an attribute depends on no other attribute.
APART = ("fda", "mutual-information", "chi-square")


# Hops along links make linked users alike whatever they report, so that attributes are scored after one.
LINK_SCORING = {"link": {"analysis_hops": 1}}


class ScoringSettings(BaseSettings):
    """Training, the scale of the input, and how attributes are scored."""

    analysis: Literal["fda", "sma", "mutual-information", "chi-square", "pca"] = Field(
        "fda", description="how attributes are scored from round 1"
    )
    analysis_hops: int = Field(3, ge=0, description="K, hops of averaging before the analysis")
    norm_importance: float = Field(
        0.5, ge=0, le=1, description="weight of norms beside classes in the analysis, where both are learned"
    )


def attribute_scores(job: Job, topology: Topology, estimate: Estimate) -> Scores:
    """Return the score of every attribute, for the job's task or tasks.

    Parameters
    ----------
    topology
        The graph to denoise along.
    estimate
        Estimates of all users' values.
    """
    settings, graph = job.settings, job.graph
    hops = denoise.KProp(settings.analysis_hops).operator(topology.mean)
    values = learn.DenoisedReports(estimate, hops, job.device)
    if job.task is LINK:
        assert graph.links is not None
        train = graph.links.train
        return learn.pair_fisher_scores(values, train.linked, train.unlinked)
    # Without hops, whoever is silent has no values to be compared with others.
    heard = (np.diff(estimate.indptr) > 0) | (settings.analysis_hops > 0)
    labels, train, validation = graph.labels, graph.train & heard, graph.validation & heard
    targets = graph_targets(job, topology)
    if isinstance(targets, learn.DropTargets) and targets.spread_labels is not None:
        # Private labels count as Drop cleans them.
        labels = targets.spread_labels.cpu().numpy()
    analysis = learn.ANALYSES[settings.analysis]
    if graph.multilabel:
        # Each label is a task of two classes; an attribute counts by what it says about all of them.
        columns = [learn.KnownLabels(column, train, validation, 2) for column in np.asarray(labels).T]
        return np.asarray(np.mean([analysis(values, column) for column in columns], axis=0))
    scores = analysis(values, learn.KnownLabels(labels, train, validation, graph.class_count))
    if job.norms is None:
        return scores
    trained = np.flatnonzero(train & job.norms.known)
    if not trained.size:
        return scores
    by_norm = learn.correlation_scores(values, job.norms.values, trained)
    weight = settings.norm_importance
    return learn.combined_scores([(scores, 1 - weight), (by_norm, weight)])


def null_scores(job: Job, topology: Topology, reports: Reports) -> Scores:
    """Return scores of attributes that say nothing.

    The server draws rounds itself, by the blind mechanism, from its own seed.

    Parameters
    ----------
    topology
        The graph to denoise along.
    reports
        The reports of the round that is imitated.
    """
    mechanism, users = value_mechanism(reports.mechanism.blind()), reports.users
    # Any rows will do; these are one number, seen as often as needed.
    nothing: Any = np.broadcast_to(mechanism.public.low, (users, mechanism.shape.dimensions))
    if isinstance(mechanism, PersonalMechanism):
        shares = mechanism.level_shares(reports)
        levels = np.random.default_rng(job.seed).choice(len(shares), users, p=shares) + 1
        nothing = (levels, nothing)
    # An analysis that looks at each attribute by itself needs no more attributes than scores.
    apart = job.task is LINK or job.settings.analysis in APART
    rounds: list[Scores] = []
    while len(rounds) < NULL_ROUNDS and len(rounds) * mechanism.shape.dimensions < NULL_SCORES:
        random_bits = SeededBits(job.seed, 1, len(rounds))
        drawn = mechanism.randomize(nothing, random_bits)
        estimate = replace(drawn, answered=reports.answered).estimate()
        if apart and job.norms is None:
            estimate = estimate.first(NULL_SCORES)
        rounds.append(attribute_scores(job, topology, estimate))
    return np.concatenate(rounds)
