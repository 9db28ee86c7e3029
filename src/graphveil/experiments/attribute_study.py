"""Which attributes matter for a task: private rankings beside their control, beside the ranking without privacy, and beside chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.figure import INK, METHOD, RULE, TITLE_SIZE, WIDTH, Drawing, line_style
from graphveil.experiments.page import Section, page
from graphveil.experiments.statistics import t_interval
from graphveil.experiments.table import Table
from graphveil.experiments.unit import Ready, answering, make_ready
from graphveil.mechanisms import Estimate, Reports
from graphveil.mechanisms.reports import even_pointers
from graphveil.methods.first_round import FirstRound
from graphveil.methods.job import Job, Progress
from graphveil.methods.scoring import attribute_scores, estimate_scores, null_scores
from graphveil.methods.tasks import LINK
from graphveil.methods.togl import Togl
from graphveil.number_format import NONE, budget, counted, percent, rounded
from graphveil.privacy.record import Privacy
from graphveil.version import __version__


def degree_correlations(features: Any, degrees: Any) -> NDArray[np.float64]:
    """Pearson's correlation of each attribute with the number of neighbours; 0 for one that everybody has alike.

    >>> degree_correlations(np.array([[0, 1, 1], [1, 1, 0]]), np.array([2, 4])).tolist()
    [1.0, 0.0, -1.0]
    """
    centred = np.asarray(degrees, dtype=np.float64) - np.mean(degrees)
    mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
    squares = (
        features.multiply(features) if hasattr(features, "multiply") else np.square(features, dtype=float)
    )
    spread = np.sqrt(
        np.maximum(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - np.square(mean), 0.0)
    )
    both = np.asarray(features.T @ centred, dtype=np.float64).ravel() / len(centred)
    scale = spread * centred.std()
    correlations: NDArray[np.float64] = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
    return correlations


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


def ask_first_round(spec: Experiment, part: Part, run: int, whole: bool) -> Answered:
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
    spec: Experiment,
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


def check_ranking(spec: Experiment, top: int) -> None:
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


def tie_seeds(spec: Experiment, of: str) -> tuple[tuple[int, int], ...]:
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

    spec: Experiment
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
        spec, settings = self.spec, self.spec.resolved_settings.model_dump()
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


def compare_rankings(spec: Experiment, *, top: int = TOP, progress: Progress | None = None) -> Comparison:
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


LONGEST_NAME = 24


def write_attribute_figure(comparison: Comparison, file: Path) -> None:
    """Draw the best attributes to a file that `check_figure` has let pass."""
    attribute_drawing(comparison).write(file)


def attribute_drawing(comparison: Comparison) -> Drawing:
    """The mean scores of the best attributes, with 95% intervals; those that are among the best without privacy stand out."""
    spec, top = comparison.spec, comparison.ranking.top
    chosen = comparison.ranking.order[:LISTED]
    truly = set(comparison.reference.order[:top].tolist())
    scores = comparison.ranking.mean
    reaches = {each: _half_interval(comparison.ranking.scores[:, each].tolist()) for each in chosen.tolist()}
    drawing = Drawing((WIDTH, 1.6 + 0.27 * len(chosen)))
    axes = drawing.axes[0]
    for inside, colour in ((True, METHOD.day), (False, RULE.day)):
        places = [place for place, each in enumerate(chosen.tolist()) if (each in truly) == inside]
        if places:
            label = f"{'' if inside else 'not '}among the top {top} without privacy"
            half = [reaches[each] for each in chosen[places].tolist()]
            axes.barh(
                places,
                scores[chosen[places]],
                color=colour,
                label=label,
                xerr=half if spec.runs > 1 else None,
                ecolor=INK.day,
                capsize=2,
            )
    axes.axvline(
        comparison.control.mean.max(),
        label="the control's best (ε = 0)",
        **line_style("control", flat=True),
    )
    axes.axvline(comparison.null.mean(), label="one that says nothing, on average", **line_style("chance"))
    axes.set_yticks(range(len(chosen)), [_short(comparison.name(each)) for each in chosen.tolist()])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    interval = ", with 95% intervals" if spec.runs > 1 else ""
    axes.set_xlabel(
        f"score ({spec.resolved_settings.model_dump()['analysis']}), mean of {counted(spec.runs, 'run')}{interval}"
    )
    axes.set_ylabel("attribute")
    title = f"attributes of {Path(spec.data).stem} at {budget(spec.budgets.epsilon)}"
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.grid(visible=False, axis="y")
    drawing.legend(columns=2)
    return drawing


def _half_interval(scores: list[float]) -> float:
    """Half of the 95% t-interval of a mean over runs; 0 where there is one run."""
    found = t_interval(scores)
    return 0.0 if found.low is None or found.high is None else (found.high - found.low) / 2


def _short(name: str) -> str:
    """A name that fits beside a bar.

    >>> _short("a" * 30)
    'aaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


# So many attributes are in the table, where not more are asked for.
PRINTED = 10
LOOKED_AT = "what is without privacy, and correlation with degree, look at the simulated users' own values, which no server has"


def attribute_page(comparison: Comparison) -> str:
    """The whole page."""
    fields, spec = comparison.to_dict(), comparison.spec
    head = ranking_head(fields)
    table = Table(head, tuple(ranking_rows(comparison)), frozenset(head) - {"attribute"})
    results = Section("The best attributes", svg=attribute_drawing(comparison).svg(), table=table)
    trusted = Section("How far it can be trusted", tuple(map(_sentence, (*trust_lines(fields), LOOKED_AT))))
    cost = Section("What it cost", (Privacy.model_validate(fields["privacy"]).sentence,))
    title = f"Attributes of {Path(spec.data).stem} at {budget(spec.budgets.epsilon)}"
    footer = f"graphveil {__version__}, seed {spec.seed}, {counted(spec.runs, 'run')}."
    return page(title, _sentence(fields["verdict"]), (results, trusted, cost), footer)


def ranking_head(fields: dict[str, Any]) -> tuple[str, ...]:
    """The columns of the table."""
    top = fields["top"]
    return (
        "rank",
        "attribute",
        "score",
        "over one that says nothing",
        f"in the top {top}",
        "correlation with degree",
    )


def ranking_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The best attributes, and the one that blind reports put first."""
    fields = comparison.to_dict()
    # What is listed starts with the first attributes of the ranking, without gaps.
    best = fields["attributes"][: max(PRINTED, fields["top"])]
    rows = [
        (str(place), comparison.name(each["attribute"]), *_numbers(each, fields["runs"]))
        for place, each in enumerate(best, 1)
    ]
    return [*rows, ("", "control's best", *_numbers(fields["control_best"], fields["runs"]))]


def trust_lines(fields: dict[str, Any]) -> list[str]:
    """Stability, agreement and fairness in words."""
    top, stability, agreement = fields["top"], fields["stability"], fields["agreement"]
    fairness = fields["fairness"]
    stable = "one run has no stability to measure"
    if stability["jaccard"] is not None:
        beside = f"control {stability['control']:.2f}, chance {rounded(stability['chance'], 2)}"
        beside += f", without privacy {stability['without_privacy']:.2f}"
        stable = f"Jaccard {stability['jaccard']:.2f} of the top {top} over pairs of runs, {beside}"
    share, control, chance = (percent(agreement[key], ".3g") for key in ("share", "control", "chance"))
    return [
        f"stability: {stable}",
        f"agreement with the ranking without privacy: {share} of the top {top}, control {control}, chance {chance}",
        f"fairness: mean |correlation| with degree {fairness['top']:.3f} in the top {top}, {fairness['all']:.3f} in all",
    ]


def _numbers(about: dict[str, Any], runs: int) -> tuple[str, str, str, str]:
    return (
        rounded(about["score"]),
        NONE if about["relative"] is None else f"{about['relative']:.2f}",
        f"{about['times_in_top']} of {runs}",
        f"{about['degree_correlation']:+.3f}",
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
