"""Advice before anybody is asked: what each level costs, what veil would gain at a budget, and what malicious users could do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.attacks.poisoning import (
    ForgingUsers,
    Influence,
    class_direction,
    influence_of,
    weights_in_means,
)
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import FREE, Chart, ChartPanel, Series
from graphveil.experiments.page import Analysis, Section
from graphveil.experiments.table import Table
from graphveil.experiments.unit import OpenUnit, RunUnit, open_unit
from graphveil.graphs import Graph, Users
from graphveil.graphs.users import expected_shares
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.job import Progress
from graphveil.methods.ppgnn import LevelError, level_errors
from graphveil.methods.veil_advice import GainModel, PublicNumbers, PublicView, Situation, find_gain_model
from graphveil.number_format import NONE, budget, counted, percent, rounded
from graphveil.privacy import Nobody
from graphveil.statistics import Summary


@dataclass(frozen=True)
class LevelAdvice(Analysis):
    """The cost of each level on a graph, and the ε that hides the chosen level (infinite if not hidden)."""

    data: str
    epsilon: float | None
    mechanism: str
    levels: tuple[LevelError, ...]
    level_epsilon: float

    @property
    def _hidden(self) -> bool:
        return math.isfinite(self.level_epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "level_epsilon": self.level_epsilon if self._hidden else None}

    @property
    def title(self) -> str:
        return f"privacy levels on {self.data}, {self.mechanism} at {budget(self.epsilon)}"

    @property
    def headline(self) -> str:
        hidden = (
            f"hidden up to ε = {rounded(self.level_epsilon, 4)}" if self._hidden else "not protected at all"
        )
        return f"the level that a user chose is {hidden}"

    @property
    def sections(self) -> list[Section]:
        head = (
            *("level", "ε", "users", "values answered"),
            *("error of one report", "without it and stricter ones"),
        )
        rows = (
            (
                str(each.level),
                f"{each.budget:g}",
                percent(each.share, ".0f"),
                *map(rounded, (each.answered, each.own, each.without)),
            )
            for each in self.levels
        )
        errors = (
            f"Errors are root mean squares of a feature's estimate, in widths of its range. The mean over a neighbourhood, where all "
            f"are asked, has {rounded(self.levels[0].mean)}; the last column says what it has where a level and all stricter ones are not asked."
        )
        return [Section("What each level costs", (errors,), table=Table(head, rows, head))]


def advise_levels(spec: Experiment) -> LevelAdvice:
    """Return the cost of each level of an experiment on its graph; nobody is asked."""
    spec.check()
    mechanism = spec.budgets.mechanism
    if not spec.has_levels:
        raise InputError(f"{mechanism} has no levels: take ppm or ppm-printed")
    # Levels that real users chose are theirs: an operator compares distributions, and learns shares from reports.
    shares = expected_shares(len(spec.level_budgets()), spec.levels.level_distribution or "uniform")
    ready = open_unit(RunUnit(spec))
    (built,) = ready.mechanisms
    assert isinstance(built, PersonalMechanism)
    errors = tuple(level_errors(ready.graph, built, shares))
    return LevelAdvice(spec.data, spec.budgets.epsilon, mechanism, errors, built.level_loss.epsilon)


# A gain that is worth asking for, in points.
WORTH = 2.0
# Below this a gain is none; where as much as `TOO_MUCH` may come, asking nobody is not said to be as good.
NOTHING, TOO_MUCH = 0.5, 3.0
# With fewer labels than this share of the users, and a budget above this one, some real graphs gained more than others foretold: without a
# panel, asking nobody is not said to be as good there.
FEW_LABELS, SURPRISING = 0.1, 2.0
# How many times as many users or volunteers are looked at, and in how many steps.
MOST_TIMES, STEPS = 10.0, 61
# Without a panel: the fewest volunteers that are looked at, and the most. Panels of 100 and 300 have been measured.
FEWEST, MOST_VOLUNTEERS = 25, 1000
# Published methods on ten real graphs at ε = 4, half of the labels and few: the best of them less structure (docs/veil.md).
OTHERS = (-11.6, 0.5)
OTHERS_SAID = (
    "Other private methods: none of those measured on real graphs at ε = 4 was clearly better than structure; the best on each was "
    f"from {-OTHERS[0]:g} points below it to {OTHERS[1]:g} above, within noise. This is a stored fact, not a prediction."
)
OTHERS_IN_TOWNS = (
    "Other private methods gain in towns too: 8 points over structure by ppgnn at ε = 0.5 and 19 by togl at ε = 4 in the town as it "
    "comes. This is a stored fact, not a prediction."
)
# What the chart shows: so many times as many users, and budgets besides those that are asked for.
TIMES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
BUDGETS = (0.5, 2.0, 8.0)
VERDICTS = {
    "no": "do not collect: asking nobody is as good",
    "yes": "collect: answers are worth their budget",
    "open": "open: a pilot or volunteers would tell",
}


@dataclass(frozen=True)
class BudgetLine:
    """One budget: what veil would gain, in points, and what it would take to gain `WORTH`; None: not within what was looked at."""

    epsilon: float
    gain: float
    low: float
    high: float
    users_needed: int | None = None
    volunteers_needed: int | None = None
    # Whether a gain beyond the interval has been seen in such a case.
    surprising: bool = False

    @property
    def collect(self) -> str:
        """yes, no or open."""
        if self.gain < NOTHING and self.high < TOO_MUCH and not self.surprising:
            return "no"
        return "yes" if self.gain >= WORTH and self.low > 0 else "open"

    @property
    def verdict(self) -> str:
        """The same as a sentence."""
        return VERDICTS[self.collect]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        return {**asdict(self), "collect": self.collect, "verdict": self.verdict}


@dataclass(frozen=True, eq=False)
class BudgetAdvice(Analysis):
    """The public numbers of a graph, and what each budget would buy there.

    ``nats`` are those of a volunteer's row, if there are volunteers.
    """

    data: str
    metric: str
    numbers: PublicNumbers
    structure: float
    volunteers: int
    nats: float | None
    lines: tuple[BudgetLine, ...]
    # The curve and what it is asked about: what the chart is drawn from.
    model: GainModel = field(repr=False)
    view: PublicView = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "metric": self.metric,
            "public": asdict(self.numbers),
            "structure": self.structure,
            "panel": {"users": self.volunteers, "nats": self.nats} if self.volunteers else None,
            "budgets": [line.to_dict() for line in self.lines],
            "others": None if self.view.town else {"low": OTHERS[0], "high": OTHERS[1], "source": "stored"},
            "learned_from": self.model.graphs,
            "left_out": self.model.without is not None,
        }

    @property
    def title(self) -> str:
        return f"graphveil: advice on a budget for {self.data}"

    @property
    def footer(self) -> str:
        rows_too = " and volunteers' rows" if self.volunteers else ""
        return f"Everything here follows from public numbers{rows_too}."

    @property
    def sections(self) -> list[Section]:
        """A row for each budget, in points over structure, with the map; and what the numbers rest on."""
        head = (
            *("ε", "veil gains", "interval", "best other"),
            *(f"users for +{WORTH:g}", f"volunteers for +{WORTH:g}"),
        )
        rows = (
            (
                f"{line.epsilon:g}",
                signed(line.gain),
                f"{signed(line.low)} to {signed(line.high)}",
                NONE if self.view.town else f"≤ {OTHERS[1]:+g}",
                NONE if self.volunteers else _needed(line.users_needed, f"> {MOST_TIMES:g} times"),
                self._volunteers_needed(line.volunteers_needed),
                line.verdict,
            )
            for line in self.lines
        )
        who = "volunteers" if self.volunteers else "users like these, with as many labels each"
        caption = (
            f"What veil would add to structure, in points, if there were more or fewer {who}: from a tenth to ten times as many as in "
            f"{self.data}, at the budgets that were asked for and at some others."
        )
        bought = Section(
            "What a budget would buy",
            figure=self.chart(),
            table=Table((*head, "verdict"), rows, head),
            caption=caption,
        )
        return [bought, Section("What this rests on", self.grounds())]

    def _volunteers_needed(self, count: int | None) -> str:
        """Say how many volunteers are needed: fewer than those who are there are not looked at, so they are enough at the most."""
        enough = "≤ " if self.volunteers and count == self.volunteers else ""
        return enough + _needed(count, f"> {most_volunteers(self.view):,}")

    @property
    def headline(self) -> str:
        """One sentence: each verdict with the budgets that it is said of."""
        said: dict[str, list[str]] = {}
        for line in self.lines:
            said.setdefault(line.verdict, []).append(f"{line.epsilon:g}")
        parts = (f"at ε = {', '.join(budgets)} {verdict}" for verdict, budgets in said.items())
        return f"on {self.data}, {'; '.join(parts)}"

    def grounds(self) -> tuple[str, ...]:
        """Return what the numbers are and what they rest on."""
        numbers = self.numbers
        known = (
            f"{self.data}: {numbers.users:,} users, {numbers.dims:,} features, {numbers.classes} classes, {numbers.trained:,} labels to learn from "
            f"and {numbers.validated:,} to validate. Structure, which asks nobody, reaches {100 * self.structure:.1f} on validation users "
            f"({self.metric}) and is sure by {100 * numbers.sure:.0f}% on average of a class that it does not know."
        )
        gave = (
            f"{counted(self.volunteers, 'volunteer')} gave their raw rows: a row tells {rounded(self.nats)} nats of the class, by a model that "
            "others of them taught."
        )
        panel = (gave,) if self.volunteers else ()
        rests = (
            f"Gains are points of {self.metric} on test users. They are foretold from public numbers by a curve that was fitted to "
            f"{self.model.graphs} towns and graphs{', this one left out' if self.model.without else ''}; intervals are those that held in nine "
            "of ten lines on graphs which the curve had not seen. Nobody was asked, and no row but a volunteer's was read."
        )
        return (known, *panel, rests, OTHERS_IN_TOWNS if self.view.town else OTHERS_SAID)

    def chart(self) -> Chart:
        """Draw the gain over users, or over volunteers where there are any: a line for each budget, and what is worth asking for."""
        view = self.view
        budgets = sorted({*BUDGETS, *(line.epsilon for line in self.lines)}, reverse=True)
        places = tuple(times * (self.volunteers or self.numbers.users) for times in TIMES)

        def gain(here: Situation, more: float) -> Summary:
            count = max(round(more * view.panel), 1)
            there = view.with_volunteers(here, count) if view.panel else here.with_users(more)
            return Summary(self.model.predict(there).gain)

        lines = [
            Series(f"ε = {epsilon:g}", places, tuple(gain(view.at(epsilon), times) for times in TIMES))
            for epsilon in budgets
        ]
        lines.append(Series(f"+{WORTH:g} points", (), (Summary(WORTH),), role="limit"))
        who = "volunteers" if self.volunteers else "users"
        panel = ChartPanel(
            f"{self.data}: what veil adds to structure",
            who,
            "points over structure",
            tuple(lines),
            "x",
            limits=FREE,
        )
        return Chart((panel,))


def signed(value: float) -> str:
    """Return points with their sign.

    >>> signed(1.25), signed(-0.01)
    ('+1.2', '0.0')
    """
    shown = f"{value:+.1f}"
    return "0.0" if float(shown) == 0 else shown


def _needed(count: int | None, beyond: str) -> str:
    return beyond if count is None else f"{count:,}"


def advise_budget(
    spec: Experiment,
    epsilons: Sequence[float],
    progress: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> BudgetAdvice:
    """Predict the gain of veil at each budget from public numbers and the panel's rows; nobody is asked.

    The curve was fitted to gains on other graphs than this one.

    Parameters
    ----------
    epsilons
        The budgets to predict the gain at.
    progress
        Called with the current step and the share that is done.
    given
        Graph and users, if these are objects.
    """
    if not epsilons:
        raise InputError("no budget is given: name one or more, such as --epsilon 1,2,4")
    spec.check()
    with learn.one_thread():
        ready = open_unit(RunUnit(spec, given=given), progress)
        job = replace(ready.job, users=Nobody())
        ready.method.check(job)
        view = PublicView.of(job)
    model = find_gain_model("panel" if view.panel else "private", view.data)
    planned = model if view.panel else find_gain_model("planned", view.data)
    return BudgetAdvice(
        spec.data,
        job.graph.metric,
        view.numbers,
        view.structure,
        view.panel,
        None if view.volunteers is None else view.volunteers.nats,
        tuple(_line(view, model, planned, epsilon) for epsilon in epsilons),
        model,
        view,
    )


def _line(view: PublicView, model: GainModel, planned: GainModel, epsilon: float) -> BudgetLine:
    here = view.at(epsilon)
    predicted = model.predict(here)
    base, first, last = view.numbers.users, view.panel or FEWEST, most_volunteers(view)
    counts = {round(count) for count in np.geomspace(first, max(first, last), STEPS).tolist()}
    users = _first(
        np.geomspace(1.0, MOST_TIMES, STEPS).tolist(),
        lambda times: model.predict(here.with_users(times)).gain,
    )
    volunteers = _first(
        sorted(counts), lambda count: planned.predict(view.with_volunteers(here, round(count))).gain
    )
    return BudgetLine(
        epsilon,
        predicted.gain,
        predicted.low,
        predicted.high,
        None if users is None else round(base * users),
        None if volunteers is None else round(volunteers),
        may_surprise(here),
    )


def _first(sizes: Sequence[float], gain: Callable[[float], float]) -> float | None:
    """Return the first size at which a gain is worth asking for."""
    return next((size for size in sizes if gain(size) >= WORTH), None)


def most_volunteers(view: PublicView) -> int:
    """Return the most volunteers that are looked at: training users alone volunteer."""
    most = round(MOST_TIMES * view.panel) if view.panel else MOST_VOLUNTEERS
    return min(most, view.numbers.trained)


def may_surprise(situation: Situation) -> bool:
    """Return whether such a case has shown a gain that nothing foretold."""
    numbers = situation.numbers
    few = numbers.trained < FEW_LABELS * numbers.users
    return not situation.panel and few and situation.epsilon > SURPRISING


# The stream of a run's seed by which malicious users are drawn.
STREAM = 21
# Malicious users who say nothing, who push a class, and who push it from where they weigh most.
KINDS = "careless / colluding / and placed"


@dataclass(frozen=True)
class Harm:
    """The effect of malicious users, as means over runs.

    ``score`` is the method's score on test users, ``drawn_in`` the share of honest test users of other
    classes who are predicted to be of the target class.
    """

    score: float
    drawn_in: float


@dataclass(frozen=True)
class Poisoned(Harm):
    """A share of malicious users, drawn at random, who all push the target class; and what others of the same number would do.

    Those of ``careless`` are drawn at random and send what says nothing. Those of ``placed`` push the target class too, and are the users whose
    reports weigh most in the means of their neighbours.
    """

    share: float
    malicious: int
    careless: Harm
    placed: Harm


@dataclass(frozen=True)
class PoisoningAdvice(Analysis):
    """All shares that were looked at, the first of them 0."""

    data: str
    method: str
    metric: str
    target: int
    runs: int
    forged: bool
    influences: tuple[Influence, ...]
    lines: tuple[Poisoned, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, with the bound of every share."""
        whole = asdict(self)
        for line, fields in zip(self.lines, whole["lines"], strict=True):
            fields["moved"] = [each.moved(line.share) for each in self.influences]
        return whole

    @property
    def title(self) -> str:
        return f"malicious users of {self.method} on {self.data}"

    @property
    def headline(self) -> str:
        honest, worst = self.lines[0], self.lines[-1]
        return (
            f"with {percent(worst.share)} of users colluding, {percent(worst.drawn_in)} of others are taken for class {self.target}, "
            f"{percent(worst.placed.drawn_in)} where liars are placed well, and {percent(honest.drawn_in)} without any"
        )

    @property
    def sections(self) -> list[Section]:
        head = (
            "malicious",
            *(f"mean moved ({each.mechanism})" for each in self.influences),
            f"{self.metric} of {self.method}: {KINDS}",
            f"others taken for class {self.target}: {KINDS}",
        )
        rows = []
        for line in self.lines:
            moved = (f"≤ {rounded(each.moved(line.share))}" for each in self.influences)
            harms = (line.careless, line, line.placed)
            scores = " / ".join(percent(each.score) for each in harms)
            drawn_in = " / ".join(percent(each.drawn_in) for each in harms)
            rows.append((percent(line.share), *moved, scores, drawn_in))
        how = (
            "send the worst codes that a server takes"
            if self.forged
            else "send the worst codes where they can be chosen, and else answer for a false row"
        )
        measured = (
            f"Predictions are measured, in {counted(self.runs, 'run')}. Colluding liars know what rows of each class look like, all push "
            f"class {self.target}, and {how}: drawn at random, and placed where their reports weigh most in the means of their neighbours. Careless ones send "
            "reports that say nothing. Others who know more, the trained model for one, may do worse."
        )
        said = (*map(_influence_sentence, self.influences), measured)
        return [Section("What they bring about", said, table=Table(head, rows, head))]


def _influence_sentence(influence: Influence) -> str:
    honest = (
        "an honest one adds 0 to 1 on average"
        if influence.unbiased
        else "its estimates are biased, so any change of a report counts"
    )
    return (
        f"One report by {influence.mechanism} at ε = {influence.epsilon:g} adds at most {rounded(influence.most)} widths of a value's range to the "
        f"sum of its estimates, about {influence.values:,} of {influence.dims:,} values; {honest}. So a share s of liars moves a mean by at most "
        f"{rounded(influence.most)}·s widths on average: exact, from the alphabet and what is refused."
    )


def advise_poisoning(
    spec: Experiment,
    shares: Sequence[float],
    target: int | None = None,
    progress: Progress | None = None,
) -> PoisoningAdvice:
    """Run a method without malicious users and with each share of them, who push others into a target class.

    Malicious users know the average row of every class, and all send the same. If codes can be chosen, they
    send those that favour the target class most; else they answer as a row that does. For comparison, the
    method also runs with as many users who send uninformative reports, and with as many malicious users in
    the places with the largest weights.

    Parameters
    ----------
    shares
        The shares of malicious users, 0..1; 0 is always added.
    target
        The target class; the rarest by default.
    progress
        Called with the current step and the share that is done.
    """
    _check(spec, shares)
    first = open_unit(RunUnit(spec))
    counts = {share: round(share * first.graph.node_count) for share in (0.0, *shares)}
    harms: dict[float, list[list[Harm]]] = {share: [] for share in counts}
    # What cannot be measured is refused before anything is learned.
    chosen, influences, forged = _target(first, target), _influences(first), True
    import_module("graphveil.learn.backbones")
    games = list(product(range(spec.runs), counts.items()))
    for done, (run, (share, count)) in enumerate(games):
        if progress is not None:
            progress(f"run {run + 1}, {share:.0%} malicious", done / len(games))
        kinds, all_forged = _harms(RunUnit(spec, run=run), count, chosen)
        harms[share].append(kinds)
        forged &= all_forged
    lines = []
    for share, runs in harms.items():
        pushing, careless, placed = (
            Harm(*(float(np.mean([getattr(each, name) for each in kind])) for name in ("score", "drawn_in")))
            for kind in zip(*runs, strict=True)
        )
        lines.append(Poisoned(pushing.score, pushing.drawn_in, share, counts[share], careless, placed))
    names = (spec.data, spec.method, first.graph.metric)
    return PoisoningAdvice(*names, chosen, spec.runs, forged, influences, tuple(lines))


def _check(spec: Experiment, shares: Sequence[float]) -> None:
    spec.check()
    for share in shares:
        check_number(share, "share", least=0, below=1)
    if not any(shares):
        raise InputError("share must name at least one share of malicious users above 0, like 0.05")
    if not spec.resolved_method.can.asks:
        raise InputError(
            f"nobody can lie to {spec.method}, which asks about no features: take another method"
        )
    if not spec.resolved_task.learns_labels or spec.has_levels or spec.budgets.private_links:
        raise InputError("malicious users are measured without levels or private links: take the task node")


def _target(ready: OpenUnit, target: int | None) -> int:
    labels, count = ready.users.raw.labels, ready.graph.class_count
    if labels.ndim == 2 or count < 2:
        raise InputError("malicious users are measured where a user has one class of at least two")
    if target is not None:
        return check_whole(target, "target", least=0, most=count - 1)
    return int(np.bincount(labels[labels >= 0], minlength=count).argmin())


def _influences(ready: OpenUnit) -> tuple[Influence, ...]:
    """Return the influence of a single report, for every question."""
    questions = ready.job.questions
    labels = () if questions.labels is None else (questions.labels,)
    asked = (*questions.features, *questions.classes, *labels)
    return tuple(dict.fromkeys(influence_of(plan) for plan in asked))


def _harms(unit: RunUnit, count: int, target: int) -> tuple[list[Harm], bool]:
    """One run with so many users who push the target, who are careless, and who are placed; and whether all that was sent was forged."""
    ready = open_unit(unit)
    drawn = np.random.default_rng([ready.job.seed, STREAM]).permutation(ready.graph.node_count)[:count]
    harm, forged = _harm(ready, drawn, target)
    if not count:
        return [harm, harm, harm], forged
    # Users answer on a ledger: asking again needs fresh users.
    careless, _ = _harm(open_unit(unit), drawn, target, careless=True)
    heavy = np.argsort(-weights_in_means(ready.graph), kind="stable")[:count]
    placed, _ = _harm(open_unit(unit), heavy, target)
    return [harm, careless, placed], forged


def _harm(
    ready: OpenUnit, liars: NDArray[np.int64], target: int, *, careless: bool = False
) -> tuple[Harm, bool]:
    """Return the effect of these malicious users, and whether everything they sent was forged."""
    labels, graph = ready.users.raw.labels, ready.graph
    malicious = np.isin(np.arange(graph.node_count), liars)
    direction = class_direction(ready.users.raw.rows(), labels, target)
    users = ForgingUsers(ready.job.users, malicious, target, direction, ready.job.seed, careless=careless)
    with learn.one_thread():
        outcome = ready.method.run(replace(ready.job, users=users))
    score = ready.users.evaluate(outcome.scores, graph)
    assert outcome.scores is not None
    others = graph.test & ~malicious & (labels != target)
    drawn_in = (outcome.scores.argmax(axis=1) == target)[others]
    return Harm(score, float(drawn_in.mean()) if drawn_in.size else 0.0), users.forged
