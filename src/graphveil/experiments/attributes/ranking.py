"""Which attributes matter for a task, as togl's first round finds them; nothing else is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.attributes.degrees import degree_correlations
from graphveil.experiments.runs.unit import Ready, answering, make_ready
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.mechanisms import Estimate, Reports
from graphveil.mechanisms.reports import even_pointers
from graphveil.methods.first_round import FirstRound
from graphveil.methods.job import Job
from graphveil.methods.scoring import attribute_scores
from graphveil.methods.togl import Togl

Scores = NDArray[np.float64]
# TOGL's Table 9 compares the five best attributes of several runs.
TOP = 5
# Ties are broken from the seed of a run and one of these.
TIES = {"method": 0, "control": 1, "reference": 2}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores of attributes in some runs (runs x attributes), and the correlation of each attribute with the degree.

    ``seeds`` break ties at random, each run's own: many attributes can have the score 0, and the same ones would else be the
    best in every run.
    """

    scores: Scores
    correlations: Scores
    top: int
    seeds: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        refuse_top(self.top, self.scores.shape[1])

    @cached_property
    def tops(self) -> tuple[NDArray[np.int64], ...]:
        """The best attributes of each run."""
        return tuple(
            best_attributes(scores, self.top, seed)
            for scores, seed in zip(self.scores, self.seeds, strict=True)
        )

    @property
    def mean(self) -> Scores:
        """The mean score of each attribute over runs."""
        mean: Scores = self.scores.mean(axis=0)
        return mean

    @property
    def order(self) -> NDArray[np.int64]:
        """Attributes by their mean score, the best first; of equal ones the smaller number."""
        return np.argsort(-self.mean, kind="stable")

    @property
    def times_in_top(self) -> NDArray[np.int64]:
        """In how many runs each attribute is among the best."""
        return np.bincount(np.concatenate(self.tops), minlength=self.scores.shape[1])

    @property
    def jaccard(self) -> float:
        """How alike the best attributes of two runs are, over all pairs of runs; it needs two."""
        return learn.jaccard(self.tops)

    @property
    def degree_correlation(self) -> float:
        """The mean absolute correlation of the best attributes with the degree, over runs (TOGL, Table 6)."""
        rows = zip(np.abs(self.correlations), self.tops, strict=True)
        return float(np.mean([of_all[best].mean() for of_all, best in rows]))

    def shared(self, other: Ranking) -> NDArray[np.int64]:
        """How many of the best attributes of each run are among the best of another ranking's same run."""
        pairs = zip(self.tops, other.tops, strict=True)
        return np.array([len(np.intersect1d(own, others)) for own, others in pairs])


@dataclass(frozen=True, eq=False)
class Answered:
    """The first round of one run: what was loaded, the job as it goes on, and the reports."""

    ready: Ready
    job: Job
    topology: learn.Topology
    reports: Reports

    @property
    def scores(self) -> Scores:
        """What the server makes of the reports."""
        return attribute_scores(self.job, self.topology, self.reports)

    @property
    def correlations(self) -> Scores:
        """The correlation of users' own values with the degree, seen from outside."""
        return degree_correlations(self.ready.users.raw.rows(), self.ready.graph.degrees)

    @property
    def privacy(self) -> dict[str, Any]:
        """What the ledger says was spent."""
        return self.ready.privacy().to_dict()


def ask_first_round(spec: Spec, part: Part, run: int, whole: bool) -> Answered:
    """Ask the first round of togl, and for labels or norms where these are private; the budget declared is just that."""
    ready = make_ready(spec, part, run, None, None)
    method = FirstRound(whole)
    questions = method.questions(ready.job)
    ledger = questions.open_ledger(ready.users)
    users = answering(spec, part, ready.users, ledger, spec.seed + run)
    job = method.begin(replace(ready.job, users=users, questions=questions))
    reports = job.users.report(*job.questions.features)
    return Answered(replace(ready, ledger=ledger), job, learn.Topology(job.graph, job.device), reports)


def rank_attributes(
    spec: Spec,
    *,
    top: int = TOP,
    part: Part = "method",
    whole: bool = False,
    watch: Callable[[Answered], None] | None = None,
) -> Ranking:
    """Rank attributes by reports of togl's first round, in every run of an experiment.

    The round has the share of the budget that togl gives it, or, with ``whole``, all of it. ``part`` "control" ranks by blind
    reports. ``watch`` sees each run.
    """
    check_ranking(spec, top)
    scores, correlations = [], []
    for run in range(spec.runs):
        with learn.one_thread():
            answered = ask_first_round(spec, part, run, whole)
            refuse_top(top, answered.ready.graph.feature_count)
            scores.append(answered.scores)
            correlations.append(answered.correlations)
            if watch is not None:
                watch(answered)
    return Ranking(np.stack(scores), np.stack(correlations), top, tie_seeds(spec, part))


def check_ranking(spec: Spec, top: int) -> None:
    """Refuse what cannot be ranked, before anything heavy is imported."""
    spec.check()
    if spec.method != Togl.name:
        raise InputError(
            f"attributes are ranked by the first round of togl, which {spec.method} has not: take togl"
        )
    if spec.budgets.link_epsilon is not None:
        raise InputError("attributes are ranked over links that are public: leave link_epsilon out")
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InputError(f"top must be an integer of at least 1, got {top!r}")


def refuse_top(top: int, attributes: int) -> None:
    """Refuse more best attributes than there are attributes."""
    if not 1 <= top <= attributes:
        raise InputError(f"top must be from 1 to {attributes}, the number of attributes, got {top}")


def tie_seeds(spec: Spec, of: str) -> tuple[tuple[int, int], ...]:
    """From what ties are broken in each run."""
    return tuple((spec.seed + run, TIES[of]) for run in range(spec.runs))


def best_attributes(scores: Scores, count: int, seed: tuple[int, int]) -> NDArray[np.int64]:
    """The attributes with the highest scores, the best first; of equal ones, any, as the seed says.

    >>> best_attributes(np.array([0.5, 2.0, 0.1]), 2, (0, 0)).tolist()
    [1, 0]
    """
    drawn = np.random.default_rng(seed).permutation(len(scores))
    return np.lexsort((drawn, -scores))[:count]


def raw_estimate(features: Any, centre: float, *, sparse: bool = True) -> Estimate:
    """Raw features as if they were what reports are decoded to: only for evaluation.

    A dense matrix counts from the middle of the public range, as reports do. A sparse one stays as it is if it may: it then
    counts from 0, which shifts an attribute by a constant.
    """
    if hasattr(features, "tocsr") and sparse:
        matrix = features.tocsr().sorted_indices()
        pointers, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return Estimate(matrix.shape, pointers, indices, matrix.data.astype(np.float64), 0.0, True)
    rows = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    users, attributes = rows.shape
    values = np.subtract(rows, centre, dtype=np.float64).ravel()
    return Estimate((users, attributes), even_pointers(users, attributes), None, values, centre, True)
