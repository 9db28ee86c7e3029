"""A private ranking of attributes beside its control, beside the ranking without privacy, and beside chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.experiments.attributes.ranking import (
    TOP,
    Answered,
    Ranking,
    Scores,
    check_ranking,
    rank_attributes,
    raw_estimate,
    tie_seeds,
)
from graphveil.experiments.runs.format import budget
from graphveil.experiments.specs.spec import Spec
from graphveil.methods.job import Progress
from graphveil.methods.scoring import estimate_scores, null_scores
from graphveil.methods.tasks import LINK

# How many attributes are listed and drawn, where not more are among the best.
LISTED = 20
# Blind reports agree with the ranking without privacy as well as those that "say which" at most this often.
SURE = 0.01
# With fewer runs, that nothing was found says little.
FEW_RUNS = 10


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the first round says of attributes, in every run of an experiment whose whole budget is spent on it.

    ``control`` ranks by blind reports, ``reference`` by raw features after the same hops. ``null`` is the mean score of an
    attribute that says nothing, in each run. ``names`` are those of the attributes, where they have some.
    """

    spec: Spec
    ranking: Ranking
    control: Ranking
    reference: Ranking
    null: Scores
    names: tuple[str, ...] | None
    privacy: dict[str, Any]

    def relative(self, ranking: Ranking) -> Scores | None:
        """Each attribute's score over that of one that says nothing, mean over runs; None where the latter is 0."""
        if not (self.null > 0).all():
            return None
        mean: Scores = (ranking.scores / self.null[:, None]).mean(axis=0)
        return mean

    @property
    def control_best(self) -> dict[str, Any]:
        """The attribute that blind reports put first: the best of many that say nothing."""
        return self._about(int(self.control.order[0]), self.control)

    @property
    def listed(self) -> NDArray[np.int64]:
        """The first attributes by mean score, and all others that are among the best in some run; the best first."""
        order, ever = self.ranking.order, self.ranking.times_in_top > 0
        places = np.arange(len(order))
        return order[(places < max(LISTED, self.ranking.top)) | ever[order]]

    def name(self, attribute: int) -> str:
        """The name of an attribute, or its number."""
        return str(attribute) if self.names is None else self.names[attribute]

    @property
    def stability(self) -> dict[str, float | None]:
        """The Jaccard similarity of the best attributes over pairs of runs; None where there is one run."""
        several = self.spec.runs > 1
        size, top = self._size
        return {
            "jaccard": self.ranking.jaccard if several else None,
            "control": self.control.jaccard if several else None,
            "chance": chance_jaccard(size, top),
            "without_privacy": self.reference.jaccard if several else None,
        }

    @property
    def agreement(self) -> dict[str, float]:
        """Which share of the best attributes is among the best without privacy.

        ``probability`` is how often blind reports would agree at least as well: blind reports treat all attributes alike, so
        what they put first is a uniform draw in every run.
        """
        size, top = self._size
        shared = self.ranking.shared(self.reference)
        return {
            "share": float(shared.mean()) / top,
            "control": float(self.control.shared(self.reference).mean()) / top,
            "chance": top / size,
            "probability": chance_of_sharing(size, top, self.spec.runs, int(shared.sum())),
        }

    @property
    def fairness(self) -> dict[str, float]:
        """The mean absolute correlation with the degree, of the best attributes and of all."""
        return {
            "top": self.ranking.degree_correlation,
            "all": float(np.abs(self.ranking.correlations).mean()),
        }

    @property
    def verdict(self) -> str:
        """Whether the ranking says more than its control."""
        agreement, top, given = self.agreement, self.ranking.top, budget(self.spec.budgets.epsilon)
        words = (
            f"the top {top} agree with the ranking without privacy in {top * agreement['share']:.1f} of {top}, "
            f"the control's in {top * agreement['control']:.1f}"
        )
        if agreement["probability"] > SURE:
            few = "" if self.spec.runs >= FEW_RUNS else f" ({self.spec.runs} runs are few)"
            return (
                f"{words}: no more than blind reports would; at {given} nothing measurable is learned of "
                f"which attributes matter{few}"
            )
        said = (
            "say which attributes matter"
            if agreement["share"] >= 0.5
            else "say some of which attributes matter"
        )
        return f"{words}: reports at {given} {said}"

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `--json` prints it."""
        spec, settings = self.spec, self.spec.full_settings().model_dump()
        return {
            "data": spec.data,
            "task": spec.task,
            "epsilon": spec.budgets.epsilon,
            "label_epsilon": spec.budgets.label_epsilon,
            "mechanism": spec.budgets.mechanism,
            "analysis": settings["analysis"],
            "hops": settings["analysis_hops"],
            "top": self.ranking.top,
            "runs": spec.runs,
            "seed": spec.seed,
            "attributes": [self._about(int(attribute), self.ranking) for attribute in self.listed],
            "control_best": self.control_best,
            "stability": self.stability,
            "agreement": self.agreement,
            "fairness": self.fairness,
            "privacy": self.privacy,
            "verdict": self.verdict,
        }

    def _about(self, attribute: int, ranking: Ranking) -> dict[str, Any]:
        relative = self.relative(ranking)
        return {
            "attribute": attribute,
            "name": None if self.names is None else self.names[attribute],
            "score": float(ranking.mean[attribute]),
            "relative": None if relative is None else float(relative[attribute]),
            "times_in_top": int(ranking.times_in_top[attribute]),
            "degree_correlation": float(ranking.correlations[:, attribute].mean()),
        }

    @property
    def _size(self) -> tuple[int, int]:
        return self.ranking.scores.shape[1], self.ranking.top


def compare_rankings(spec: Spec, *, top: int = TOP, progress: Progress | None = None) -> Comparison:
    """Rank attributes with the whole budget in togl's first round, and rank again with blind reports and without privacy."""
    check_ranking(spec, top)
    say = progress or (lambda what, share: None)
    raw: list[Scores] = []
    null: list[float] = []
    first: list[Answered] = []
    done = 0

    def beside(answered: Answered) -> None:
        nonlocal done
        if not first:
            first.append(answered)
        null.append(float(null_scores(answered.job, answered.topology, answered.reports).mean()))
        raw.append(_raw_scores(answered))
        done += 1
        say("ranking attributes", 0.8 * done / spec.runs)

    def count(_: Answered) -> None:
        nonlocal done
        done += 1
        say("ranking by blind reports", 0.8 + 0.2 * (done - spec.runs) / spec.runs)

    say("asking", 0.0)
    ranking = rank_attributes(spec, top=top, whole=True, watch=beside)
    control = rank_attributes(spec, top=top, whole=True, part="control", watch=count)
    reference = Ranking(np.stack(raw), ranking.correlations, top, tie_seeds(spec, "reference"))
    graph = first[0].ready.graph
    return Comparison(
        spec, ranking, control, reference, np.array(null), graph.feature_names, first[0].privacy
    )


def chance_jaccard(size: int, top: int) -> float:
    """The expected Jaccard similarity of two random sets of ``top`` of ``size`` attributes: Σ_i P(i) i/(2k - i).

    >>> chance_jaccard(2, 1), chance_jaccard(5, 5)
    (0.5, 1.0)
    """
    return float(sum(chance * i / (2 * top - i) for i, chance in enumerate(_sharing(size, top))))


def chance_of_sharing(size: int, top: int, runs: int, least: int) -> float:
    """How likely random sets share at least so many attributes with given ones of the same size, in all runs together.

    >>> chance_of_sharing(4, 1, 2, 1)
    0.4375
    """
    total = np.ones(1)
    for _ in range(runs):
        total = np.convolve(total, _sharing(size, top))
    return min(1.0, float(total[least:].sum()))


def _sharing(size: int, top: int) -> Scores:
    """The chance that a random set shares 0, 1, …, k attributes with a given one: hypergeometric."""
    ways = [math.comb(top, i) * math.comb(size - top, top - i) for i in range(top + 1)]
    return np.array([each / math.comb(size, top) for each in ways])


def _raw_scores(answered: Answered) -> Scores:
    """The scores that raw features would get after the same hops, with the labels that users really have."""
    job, graph = answered.job, answered.ready.graph
    open_job = replace(job, graph=graph, label_mechanism=None)
    # Products of two users' values depend on where values are counted from, so that sparse rows have to be filled up.
    sparse = job.task is not LINK
    assert graph.public_range is not None
    if not sparse:
        # Two places of single precision a number.
        shape = (graph.node_count, 2 * graph.feature_count)
        learn.refuse_above(job.max_memory, shape, "the ranking without privacy", "take the task node")
    estimate = raw_estimate(answered.ready.users.raw.rows(), graph.public_range.centre, sparse=sparse)
    return estimate_scores(open_job, answered.topology, estimate)
