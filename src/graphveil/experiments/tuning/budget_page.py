"""Advice on a budget as a page: the table, and a map of what veil would buy over users, or volunteers, and ε."""

from __future__ import annotations

import math

import numpy as np

from graphveil.experiments.runs.format import counted, rounded
from graphveil.experiments.show.colours import INK, METHOD
from graphveil.experiments.show.figure import HEIGHT, TEXT_SIZE, TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.table import Table
from graphveil.experiments.tuning.budget_advice import (
    MOST_TIMES,
    OTHERS,
    OTHERS_IN_TOWNS,
    OTHERS_SAID,
    WORTH,
    BudgetAdvice,
    with_users,
)
from graphveil.experiments.tuning.measured_gains import Situation

# What the map shows: so many times as many users, and budgets.
TIMES = (0.1, 10.0)
BUDGETS = (0.5, 8.0)
# Numbers along each side of the map, and how many shades it has.
GRID, SHADES = 25, 10


def signed(value: float) -> str:
    """Points with their sign.

    >>> signed(1.25), signed(-0.01)
    ('+1.2', '0.0')
    """
    shown = f"{value:+.1f}"
    return "0.0" if float(shown) == 0 else shown


def head() -> tuple[str, ...]:
    """The columns of the table."""
    return (
        "ε",
        "veil gains",
        "interval",
        "best other",
        f"users for +{WORTH:g}",
        f"volunteers for +{WORTH:g}",
    )


def rows(advice: BudgetAdvice) -> tuple[tuple[str, ...], ...]:
    """The table: a line for each budget, in points over structure."""
    return tuple(
        (
            f"{line.epsilon:g}",
            signed(line.gain),
            f"{signed(line.low)} to {signed(line.high)}",
            "-" if advice.ground.town else f"≤ {OTHERS[1]:+g}",
            "-" if advice.volunteers else _needed(line.users_needed, f"> {MOST_TIMES:g} times"),
            _volunteers_needed(line.volunteers_needed, advice),
        )
        for line in advice.lines
    )


def _needed(count: int | None, beyond: str) -> str:
    return beyond if count is None else f"{count:,}"


def _volunteers_needed(count: int | None, advice: BudgetAdvice) -> str:
    """Fewer than those who are there are not looked at, so they are enough at the most."""
    enough = "≤ " if advice.volunteers and count == advice.volunteers else ""
    return enough + _needed(count, f"> {advice.most_volunteers:,}")


def verdict(advice: BudgetAdvice) -> str:
    """One sentence: each verdict with the budgets that it is said of."""
    said: dict[str, list[str]] = {}
    for line in advice.lines:
        said.setdefault(line.verdict, []).append(f"{line.epsilon:g}")
    parts = (f"at ε = {', '.join(budgets)} {verdict}" for verdict, budgets in said.items())
    return f"{advice.data}: {'; '.join(parts)}."


def sentences(advice: BudgetAdvice) -> tuple[str, ...]:
    """What the numbers are and what they rest on."""
    numbers = advice.numbers
    known = (
        f"{advice.data}: {numbers.users:,} users, {numbers.dims:,} features, {numbers.classes} classes, {numbers.trained:,} labels to learn from "
        f"and {numbers.validated:,} to validate. Structure, which asks nobody, reaches {100 * advice.structure:.1f} on validation users "
        f"({advice.metric}) and is sure by {100 * numbers.sure:.0f}% on average of a class that it does not know."
    )
    gave = (
        f"{counted(advice.volunteers, 'volunteer')} gave their raw rows: a row tells {rounded(advice.told)} nats of the class, by a model that "
        "others of them taught."
    )
    panel = (gave,) if advice.volunteers else ()
    rests = (
        f"Gains are points of {advice.metric} on test users. They are foretold from public numbers by a curve that was fitted to "
        f"{advice.learned_from} towns and graphs{', this one left out' if advice.left_out else ''}; intervals are those that held in nine "
        "of ten lines on graphs which the curve had not seen. Nobody was asked, and no row but a volunteer's was read."
    )
    return (known, *panel, rests, OTHERS_IN_TOWNS if advice.ground.town else OTHERS_SAID)


def budget_page(advice: BudgetAdvice) -> str:
    """The whole page."""
    told = tuple((*row, line.verdict) for row, line in zip(rows(advice), advice.lines, strict=True))
    table = Table((*head(), "verdict"), told, frozenset(head()))
    who = "volunteers" if advice.volunteers else "users like these, with as many labels each"
    map_says = (
        f"What veil would add to structure, in points, if there were more or fewer {who}. The line is +{WORTH:g} points; the marks are "
        f"{advice.data} at the budgets that were asked for."
    )
    sections = (
        Section("What a budget would buy", (map_says,), budget_map(advice), table),
        Section("What this rests on", sentences(advice)),
    )
    rows_too = " and volunteers' rows" if advice.volunteers else ""
    rests = f"Everything here follows from public numbers{rows_too}."
    return page(f"graphveil: advice on a budget for {advice.data}", verdict(advice), sections, rests)


def budget_map(advice: BudgetAdvice) -> str:
    """Users across, or volunteers where there are any, ε upwards, the gain as a shade: an SVG element."""
    ground = advice.ground
    users = advice.volunteers or advice.numbers.users

    def gain(here: Situation, more: float) -> float:
        count = max(round(more * ground.panel), 1)
        there = ground.with_volunteers(here, count) if ground.panel else with_users(here, more)
        return advice.model.predict(there).gain

    times = np.geomspace(*TIMES, GRID)
    budgets = np.geomspace(
        min(BUDGETS[0], *(line.epsilon for line in advice.lines)),
        max(BUDGETS[1], *(line.epsilon for line in advice.lines)),
        GRID,
    )
    gains = np.array(
        [[gain(here, each) for each in times.tolist()] for here in map(ground.at, budgets.tolist())]
    )
    drawing = Drawing((WIDTH, HEIGHT + 0.3))
    axes = drawing.axes[0]
    step = max(math.ceil(float(gains.max()) / SHADES), 1)
    levels = np.arange(0, SHADES * step + 1, step)
    # One colour, more of it where there is more to gain: so the map follows the mode of the page.
    ramp = [(METHOD.day, share) for share in np.linspace(0.04, 0.85, SHADES).tolist()]
    shades = axes.contourf(users * times, budgets, gains, levels=levels, colors=ramp)
    if gains.min() < WORTH < gains.max():
        axes.contour(users * times, budgets, gains, levels=[WORTH], colors=INK.day, linewidths=1.5)
    for line in advice.lines:
        axes.plot([users], [line.epsilon], "o", color=INK.day, markersize=7, clip_on=False)
        axes.annotate(
            signed(line.gain),
            (users, line.epsilon),
            # At the upper edge it stands below its mark: above is the title.
            (8, -16 if line.epsilon == budgets[-1] else 5),
            textcoords="offset points",
            fontsize=TEXT_SIZE,
        )
    axes.set_xscale("log")
    axes.set_yscale("log", base=2)
    ticks = [users * each for each in (0.1, 0.3, 1, 3, 10)]
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set_xlabel("volunteers" if advice.volunteers else "users")
    axes.set_ylabel("privacy budget ε")
    axes.set_title(f"{advice.data}: points over structure", fontsize=TITLE_SIZE)
    drawing.scale(shades, "points over structure")
    return drawing.svg()
