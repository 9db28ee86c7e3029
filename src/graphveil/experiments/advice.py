"""Advice on levels and on a budget: what each level costs, and what veil would gain over structure, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import FREE, Chart, ChartPanel, Series
from graphveil.experiments.page import Analysis, Section
from graphveil.experiments.table import Table
from graphveil.experiments.unit import RunUnit, open_unit
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
    """What each level costs on a graph, and the ε at which a chosen level itself is hidden: infinite where it is not."""

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
    """Return what each level of a spec costs on its graph; nobody is asked."""
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
    """What is known of a graph, and what each budget would buy there. ``nats`` are those of a volunteer's row, where there are any."""

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
        return f"{self.data}: {'; '.join(parts)}."

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
    """Return what veil would buy at each budget, from public numbers and, where there is a panel, from its rows; nobody is asked.

    The curve was fitted to gains on other graphs than this one.
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
