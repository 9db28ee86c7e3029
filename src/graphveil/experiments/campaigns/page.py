"""A campaign as a page: what it says in a sentence, the figure, and a table; the terminal prints the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphveil.experiments.campaigns.campaign import Campaign, Point, shown
from graphveil.experiments.campaigns.figure import campaign_drawing
from graphveil.experiments.runs.format import NONE, counted, low_to_high, points, rounded
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.table import Table
from graphveil.version import __version__

BUDGET = "ε"
NUMBERS = ("right (%)", "95% interval", "control", "chance", "bound")
REAL = "Real ones are balanced accuracies, which no ε bounds: a graph and others' reports tell something too."


def campaign_page(campaign: Campaign) -> str:
    """The whole page."""
    title = f"{campaign.attack.name} inference on {campaign.against}, {Path(campaign.data).stem}"
    table = Table(
        ("what is guessed", BUDGET, *NUMBERS),
        tuple(
            (what, NONE if point.epsilon is None else f"{point.epsilon:g}", *cells)
            for point in campaign.points
            for what, *cells in point_rows(point)
        ),
        frozenset({BUDGET, *NUMBERS}),
    )
    results = Section("What is found out", svg=campaign_drawing(campaign).svg(), table=table)
    explained = Section("How to read it", tuple(sentences(campaign)))
    runs = counted(len(campaign.points[0].plays), "run")
    footer = f"graphveil {__version__}, seed {campaign.seed}, {runs} at each budget."
    headline = campaign.summary
    return page(title, f"{headline[0].upper()}{headline[1:]}.", (results, explained), footer)


def point_rows(point: Point) -> list[tuple[str, ...]]:
    """What was guessed, and the `NUMBERS` of it: planted secrets first, then real ones."""
    bound = shown(point.bound).removesuffix("%")
    planted = ("planted secrets", *_cells(point.found, point.control), points(point.chance), bound)
    real = [
        (f"real ones: {each.name}", *_cells(each.found, each.control), points(point.balanced_chance), NONE)
        for each in point.natural
    ]
    return [planted, *real]


def sentences(campaign: Campaign) -> list[str]:
    """The game, what the bound is about, and what real secrets say."""
    said = [
        f"Planted: {campaign.attack.game}.",
        f"The bound is about {campaign.attack.unit}{_told_stakes(campaign.points)}.",
    ]
    return [*said, REAL] if any(point.natural for point in campaign.points) else said


def _cells(found: Summary, control: Summary | None) -> tuple[str, str, str]:
    return points(found.mean), low_to_high(found), NONE if control is None else points(control.mean)


def _told_stakes(of: Sequence[Point]) -> str:
    """The prior of the bound, and its ε where that is not the budget that was given."""
    priors = dict.fromkeys(point.prior_told for point in of)
    told = [
        f"ε = {rounded(point.stakes.epsilon, 4)}"
        for point in of
        if point.stakes.epsilon not in (point.epsilon, float("inf"))
    ]
    spent = f" ({', '.join(told)})" if told else ""
    return f"{spent}; prior: {' / '.join(priors)}"
