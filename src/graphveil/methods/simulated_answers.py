"""Simulated answers: what veil's questions would add where volunteers' rows stand for everybody's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.methods.structure_posterior import Posterior
from graphveil.methods.veil_answers import usually_open
from graphveil.methods.veil_model import PublicModel

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# So many users are drawn at least.
DRAWS = 20_000
# Probabilities below this count as this.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class VolunteerRows:
    """What volunteers' rows tell: ``scores`` of each by a model that the others taught, their classes, and nats on average."""

    scores: Floats
    classes: Whole
    nats: float


def volunteer_rows(graph: Graph, posterior: Posterior, model: PublicModel) -> VolunteerRows:
    """What the volunteers of a graph tell; nothing of themselves where the model is about their neighbours."""
    assert graph.panel is not None
    users = graph.panel.users
    scores = np.zeros((len(users), graph.class_count)) if model.own is None else model.own
    known = graph.labels[users]
    classes = np.where(known == UNKNOWN, posterior.rows[users].argmax(axis=1), known)
    return VolunteerRows(scores, classes.astype(np.int64), max(model.gain or 0.0, 0.0))


def simulated_gain(rows: Floats, volunteers: VolunteerRows, epsilon: float, seed: int = 0) -> float:
    """What own answers add to the accuracy in drawn worlds, 0..1; neighbours are left out.

    Everybody's class is drawn from what graph and labels say (``rows``), and the scores of a volunteer of that class stand for the
    scores of the own row. Lists, channel and decoding are veil's; the users of one half are decoded by tables of the other.
    """
    random = np.random.default_rng(seed)
    prior = np.maximum(np.tile(rows, (max(1, math.ceil(DRAWS / len(rows))), 1)), SMALLEST)
    prior /= prior.sum(axis=1, keepdims=True)
    count, kinds = prior.shape
    truth = np.minimum((prior.cumsum(axis=1) < random.random((count, 1))).sum(axis=1), kinds - 1)
    scores = _drawn_scores(volunteers, truth, kinds, random)
    width, add = usually_open(epsilon, kinds)
    lists = np.argsort(-prior, axis=1, kind="stable")[:, :width]
    own = np.take_along_axis(scores + (np.log(prior) if add else 0.0), lists, axis=1)
    places = _k_ary(own.argmax(axis=1), width, epsilon, random)
    least = 1 / (math.exp(epsilon) + width - 1)
    everybody = np.arange(count)
    likely = np.zeros((count, kinds))
    likely[everybody, truth] = 1.0
    asked = learn.Asked(everybody, lists, places, prior.max(axis=1), least)
    folds = random.permutation(count) % 2
    by_fold, _ = learn.class_evidence(asked, learn.Judged(everybody, likely, folds), kinds)
    after = np.log(prior) + by_fold[folds, everybody]
    return float((after.argmax(axis=1) == truth).mean() - (prior.argmax(axis=1) == truth).mean())


def _drawn_scores(volunteers: VolunteerRows, truth: Whole, kinds: int, random: np.random.Generator) -> Floats:
    """Scores of volunteers of each drawn class; where nobody volunteers of a class, a row of it tells nothing."""
    scores = np.zeros((len(truth), kinds))
    for kind in range(kinds):
        pool = volunteers.scores[volunteers.classes == kind]
        chosen = np.flatnonzero(truth == kind)
        if len(pool):
            scores[chosen] = pool[random.integers(0, len(pool), len(chosen))]
    return scores


def _k_ary(places: Whole, width: int, epsilon: float, random: np.random.Generator) -> Whole:
    """The same place with the chance that k-ary response gives it, else one of the others."""
    kept = random.random(len(places)) < math.exp(epsilon) / (math.exp(epsilon) + width - 1)
    others = (places + random.integers(1, width, len(places))) % width
    return np.where(kept, places, others)
