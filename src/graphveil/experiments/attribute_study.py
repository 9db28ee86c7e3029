"""Private rankings of attributes, beside their control, the ranking without privacy, and chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.figure import INK, METHOD, RULE, WIDTH, Drawing, line_style
from graphveil.experiments.page import Analysis, Section, as_sentence
from graphveil.experiments.table import Table
from graphveil.experiments.unit import OpenUnit, RunUnit, open_unit, respondents
from graphveil.learn.attributes import (
    Ranking,
    Scores,
    chance_jaccard,
    chance_of_sharing,
    check_top,
    degree_correlations,
    raw_estimate,
)
from graphveil.mechanisms import Reports
from graphveil.methods.job import Job, Progress
from graphveil.methods.method import begin
from graphveil.methods.scoring import attribute_scores, null_scores
from graphveil.methods.tasks import LINK
from graphveil.methods.togl import FirstRound, Togl
from graphveil.number_format import NONE, budget, counted, percent, rounded
from graphveil.privacy.record import Privacy
from graphveil.statistics import t_interval
from graphveil.version import __version__

# TOGL's Table 9 compares the five best attributes of several runs.
TOP = 5
# Ties are broken from the seed of a run and one of these.
TIES = {"method": 0, "control": 1, "reference": 2}
# How many attributes are given as JSON and drawn, and how many are in the table, where not more are among the best.
LISTED, PRINTED = 20, 10
# Letters of a name beside a bar.
LONGEST_NAME = 24
# Blind reports agree with the ranking without privacy as well as those that "say which" at most this often.
SURE = 0.01
# With fewer runs, that nothing was found says little.
FEW_RUNS = 10
LOOKED_AT = "what is without privacy, and correlation with degree, look at the simulated users' own values, which no server has"


@dataclass(frozen=True, eq=False)
class FirstRoundAnswers:
    """The first round of one run: what was loaded, the job as it goes on, and the reports."""

    ready: OpenUnit
    job: Job
    topology: learn.Topology
    reports: Reports

    @property
    def scores(self) -> Scores:
        """The scores that the server computes from the reports."""
        return attribute_scores(self.job, self.topology, self.reports.estimate())

    @property
    def privacy(self) -> dict[str, Any]:
        """The spending that the ledger recorded."""
        return self.ready.privacy().to_dict()


def ask_first_round(spec: Experiment, part: Part, run: int, whole: bool) -> FirstRoundAnswers:
    """Ask the first round of togl, and for labels or norms if private; only that budget is declared.

    Parameters
    ----------
    part
        "method", or "control" for blind reports.
    run
        The number of the run, from 0.
    whole
        Whether the round gets the whole budget instead of togl's share.
    """
    unit = RunUnit(spec, part, run)
    ready = open_unit(unit)
    method = FirstRound(whole)
    questions = method.questions(ready.job)
    ledger = questions.open_ledger(ready.users)
    users = respondents(unit, ready.users, ledger)
    job = begin(method, replace(ready.job, users=users, questions=questions))
    reports = job.users.report(*job.questions.features)
    return FirstRoundAnswers(
        replace(ready, ledger=ledger), job, learn.Topology(job.graph, job.device), reports
    )


def rank_attributes(
    spec: Experiment,
    *,
    top: int = TOP,
    part: Part = "method",
    whole: bool = False,
    watch: Callable[[FirstRoundAnswers], None] | None = None,
) -> Ranking:
    """Rank attributes by reports of togl's first round, in every run of an experiment.

    Parameters
    ----------
    top
        The number of best attributes.
    part
        "method", or "control" to rank by blind reports.
    whole
        Whether the round gets the whole budget instead of togl's share.
    watch
        Called with the answers of each run.
    """
    check_ranking(spec, top)
    scores, correlations = [], []
    for run in range(spec.runs):
        with learn.one_thread():
            answers = ask_first_round(spec, part, run, whole)
            graph, users = answers.ready.graph, answers.ready.users
            check_top(top, graph.feature_count)
            scores.append(answers.scores)
            # Users' own values, seen from outside.
            correlations.append(degree_correlations(users.raw.rows(), graph.degrees))
            if watch is not None:
                watch(answers)
    return Ranking(np.stack(scores), np.stack(correlations), top, tie_seeds(spec, part))


def check_ranking(spec: Experiment, top: int) -> None:
    """Reject an experiment that cannot be ranked, before anything heavy is imported."""
    spec.check()
    if spec.method != Togl.name:
        raise InputError(
            f"attributes are ranked by the first round of togl, which {spec.method} has not: take togl"
        )
    if spec.budgets.link_epsilon is not None:
        raise InputError("attributes are ranked over links that are public: leave --link-epsilon out")
    check_whole(top, "top", least=1)


def tie_seeds(spec: Experiment, of: str) -> tuple[tuple[int, int], ...]:
    """Return the seeds that break ties, one per run."""
    return tuple((spec.seed + run, TIES[of]) for run in range(spec.runs))


@dataclass(frozen=True)
class RankedAttribute:
    """One attribute of a ranking: means over runs, and in how many runs it is among the best.

    ``relative`` is the score over that of an attribute that says nothing; None where the latter is 0.
    """

    attribute: int
    name: str | None
    score: float
    relative: float | None
    times_in_top: int
    degree_correlation: float

    @property
    def title(self) -> str:
        """The name of the attribute, or its number."""
        return str(self.attribute) if self.name is None else self.name


@dataclass(frozen=True, eq=False)
class RankingComparison(Analysis):
    """Attribute rankings of the first round, in every run of an experiment that spends all its budget on it.

    ``control`` ranks by blind reports, ``reference`` by raw features after the same hops. ``null`` is the
    mean score of an uninformative attribute, in each run. ``names`` are the attributes' names, if any.
    """

    spec: Experiment
    ranking: Ranking
    control: Ranking
    reference: Ranking
    null: Scores
    names: tuple[str, ...] | None
    privacy: dict[str, Any]

    def relative(self, ranking: Ranking) -> Scores | None:
        """Return each attribute's score over that of one that says nothing, mean over runs; None where the latter is 0."""
        return (ranking.scores / self.null[:, None]).mean(axis=0) if (self.null > 0).all() else None

    @property
    def control_best(self) -> RankedAttribute:
        """The attribute that blind reports put first: the best of many that say nothing."""
        return self._ranked(self.control, self.control.order[:1])[0]

    @cached_property
    def listed(self) -> list[RankedAttribute]:
        """Return the best attributes by mean score, and all others that are among the best in some run."""
        order, ever = self.ranking.order, self.ranking.times_in_top > 0
        first = np.arange(len(order)) < max(LISTED, self.ranking.top)
        return self._ranked(self.ranking, order[first | ever[order]])

    def _ranked(self, ranking: Ranking, attributes: NDArray[np.int64]) -> list[RankedAttribute]:
        scores, relative, times = ranking.mean, self.relative(ranking), ranking.times_in_top
        return [
            RankedAttribute(
                each,
                None if self.names is None else self.names[each],
                float(scores[each]),
                None if relative is None else float(relative[each]),
                int(times[each]),
                float(ranking.correlations[:, each].mean()),
            )
            for each in attributes.tolist()
        ]

    @property
    def stability(self) -> dict[str, float | None]:
        """The Jaccard similarity of the best attributes over pairs of runs; None where there is one run."""
        rankings = (self.ranking, self.control, self.reference)
        found, blind, raw = (each.jaccard if self.spec.runs > 1 else None for each in rankings)
        chance = chance_jaccard(*self._size)
        return {"jaccard": found, "control": blind, "chance": chance, "without_privacy": raw}

    @property
    def agreement(self) -> dict[str, float]:
        """The share of the best attributes that are also among the best without privacy.

        ``probability`` is how often blind reports would agree at least as well: blind reports treat all
        attributes alike, so their best ones are a uniform draw in every run.
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
    def _size(self) -> tuple[int, int]:
        return self.ranking.scores.shape[1], self.ranking.top

    @property
    def title(self) -> str:
        return f"Attributes of {Path(self.spec.data).stem} at {budget(self.spec.budgets.epsilon)}"

    @property
    def footer(self) -> str:
        return f"graphveil {__version__}, seed {self.spec.seed}, {counted(self.spec.runs, 'run')}."

    @property
    def headline(self) -> str:
        """A sentence that says whether the ranking is better than its control."""
        agreement, top, given = self.agreement, self.ranking.top, budget(self.spec.budgets.epsilon)
        words = (
            f"the top {top} agree with the ranking without privacy in {top * agreement['share']:.1f} of {top}, "
            f"the control's in {top * agreement['control']:.1f}"
        )
        if agreement["probability"] > SURE:
            few = "" if self.spec.runs >= FEW_RUNS else f" ({self.spec.runs} runs are few)"
            said = f"at {given} nothing measurable is learned of which attributes matter{few}"
            return f"{words}: no more than blind reports would; {said}"
        some = "" if agreement["share"] >= 0.5 else "some of "
        return f"{words}: reports at {given} say {some}which attributes matter"

    def to_dict(self) -> dict[str, Any]:
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
            "attributes": [asdict(each) for each in self.listed],
            "control_best": asdict(self.control_best),
            "stability": self.stability,
            "agreement": self.agreement,
            "fairness": self.fairness,
            "privacy": self.privacy,
            "verdict": self.headline,
        }

    @property
    def sections(self) -> list[Section]:
        results = Section("The best attributes", figure=self.drawing, table=self._table())
        trusted = Section("How far it can be trusted", tuple(map(as_sentence, (*self._trust(), LOOKED_AT))))
        return [results, trusted, Section("What it cost", (Privacy.model_validate(self.privacy).sentence,))]

    def _table(self) -> Table:
        """Return the best attributes, and the one that blind reports put first."""
        top, runs = self.ranking.top, self.spec.runs
        head = (
            *("rank", "attribute", "score", "over one that says nothing"),
            *(f"in the top {top}", "correlation with degree"),
        )

        def row(place: str, title: str, each: RankedAttribute) -> tuple[str, ...]:
            relative = NONE if each.relative is None else f"{each.relative:.2f}"
            times, correlation = f"{each.times_in_top} of {runs}", f"{each.degree_correlation:+.3f}"
            return place, title, rounded(each.score), relative, times, correlation

        # What is listed starts with the first attributes of the ranking, without gaps.
        first = self.listed[: max(PRINTED, top)]
        rows = [row(str(place), each.title, each) for place, each in enumerate(first, 1)]
        rows.append(row("", "control's best", self.control_best))
        words = () if self.names is None else ("attribute",)
        return Table(head, rows, set(head).difference(words))

    def _trust(self) -> list[str]:
        """Return stability, agreement and fairness in words."""
        top, stability, agreement = self.ranking.top, self.stability, self.agreement
        stable = "one run has no stability to measure"
        if stability["jaccard"] is not None:
            beside = f"control {stability['control']:.2f}, chance {rounded(stability['chance'], 2)}"
            beside += f", without privacy {stability['without_privacy']:.2f}"
            stable = f"Jaccard {stability['jaccard']:.2f} of the top {top} over pairs of runs, {beside}"
        share, control, chance = (percent(agreement[key], ".3g") for key in ("share", "control", "chance"))
        best, everything = self.fairness.values()
        return [
            f"stability: {stable}",
            f"agreement with the ranking without privacy: {share} of the top {top}, control {control}, chance {chance}",
            f"fairness: mean |correlation| with degree {best:.3f} in the top {top}, {everything:.3f} in all",
        ]

    def drawing(self) -> Drawing:
        """Draw mean scores of the best attributes, with 95% intervals; those that are among the best without privacy stand out."""
        spec, top, several = self.spec, self.ranking.top, self.spec.runs > 1
        chosen = self.listed[:LISTED]
        truly = set(self.reference.order[:top].tolist())
        drawing = Drawing((WIDTH, 1.6 + 0.27 * len(chosen)))
        axes = drawing.axes[0]
        for inside, colour in ((True, METHOD.day), (False, RULE.day)):
            bars = {at: each for at, each in enumerate(chosen) if (each.attribute in truly) == inside}
            means = [each.score for each in bars.values()]
            runs = [t_interval(self.ranking.scores[:, each.attribute].tolist()) for each in bars.values()]
            reach = [(each.high or 0.0) - each.mean for each in runs] if several else None
            label = f"{'' if inside else 'not '}among the top {top} without privacy"
            if bars:
                axes.barh(list(bars), means, color=colour, label=label, xerr=reach, ecolor=INK.day, capsize=2)
        control = line_style("control", flat=True)
        axes.axvline(self.control.mean.max(), label="the control's best (ε = 0)", **control)
        axes.axvline(self.null.mean(), label="one that says nothing, on average", **line_style("chance"))
        axes.set_yticks(range(len(chosen)), [_short(each.title) for each in chosen])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        interval = ", with 95% intervals" if several else ""
        analysis = spec.resolved_settings.model_dump()["analysis"]
        score = f"score ({analysis}), mean of {counted(spec.runs, 'run')}{interval}"
        drawing.label(self.title, score, "attribute")
        axes.grid(visible=False, axis="y")
        drawing.legend(columns=2)
        return drawing


def compare_rankings(
    spec: Experiment, *, top: int = TOP, progress: Progress | None = None
) -> RankingComparison:
    """Rank attributes with the whole budget in togl's first round, with blind reports, and without privacy.

    Parameters
    ----------
    top
        The number of best attributes to compare.
    progress
        Called with the current step and the share that is done.
    """
    say = progress or (lambda what, share: None)
    raw: list[Scores] = []
    null: list[float] = []
    first: list[FirstRoundAnswers] = []

    def compare(answers: FirstRoundAnswers) -> None:
        if not first:
            first.append(answers)
        null.append(float(null_scores(answers.job, answers.topology, answers.reports).mean()))
        raw.append(_raw_scores(answers))
        say("ranking attributes", 0.8 * len(raw) / spec.runs)

    say("asking", 0.0)
    ranking = rank_attributes(spec, top=top, whole=True, watch=compare)
    say("ranking by blind reports", 0.8)
    control = rank_attributes(spec, top=top, whole=True, part="control")
    reference = Ranking(np.stack(raw), ranking.correlations, top, tie_seeds(spec, "reference"))
    names = first[0].ready.graph.feature_names
    return RankingComparison(spec, ranking, control, reference, np.array(null), names, first[0].privacy)


def _raw_scores(answers: FirstRoundAnswers) -> Scores:
    """Return the scores that raw features would get after the same hops, with the labels that users really have."""
    job, graph = answers.job, answers.ready.graph
    open_job = replace(job, graph=graph, label_mechanism=None)
    # Products of two users' values depend on where values are counted from, so that sparse rows have to be filled up.
    sparse = job.task is not LINK
    assert graph.public_range is not None
    if not sparse:
        # Two places of single precision a number.
        shape = (graph.node_count, 2 * graph.feature_count)
        learn.refuse_above(job.max_memory, shape, "the ranking without privacy", "take the task node")
    estimate = raw_estimate(answers.ready.users.raw.rows(), graph.public_range.centre, sparse=sparse)
    return attribute_scores(open_job, answers.topology, estimate)


def _short(name: str) -> str:
    """Return a name that fits beside a bar.

    >>> _short("a" * 30)
    'aaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
