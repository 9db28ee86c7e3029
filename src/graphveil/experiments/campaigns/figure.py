"""The figure of a campaign: how often guesses are right over ε, beside control, chance and bound."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.campaigns.campaign import Campaign, Point
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import COLOURS, TITLE_SIZE, Drawing, band

BLUE, GREY, RED = COLOURS[0], COLOURS[1], COLOURS[3]
DARK = "#444444"


def write_campaign_figure(campaign: Campaign, file: Path) -> None:
    """Draw a campaign, budgets at equal distances in their order; an attack above its bound is a broken promise."""
    drawing = Drawing((7.2, 4.2))
    axes, points = drawing.axes[0], campaign.points
    places = list(range(len(points)))
    lines: list[tuple[str, list[Summary], str, str]] = [
        (f"attack on {campaign.against}", [point.found for point in points], "-", BLUE),
        ("the control", [point.control for point in points], "--", GREY),
    ]
    for label, curve, style, colour in lines:
        lows, means, highs = band(curve)
        axes.plot(places, means, style, marker="o", color=colour, label=label)
        axes.fill_between(places, lows, highs, color=colour, alpha=0.18, linewidth=0)
    axes.plot(places, [100 * point.bound for point in points], "-", color=RED, marker="_", label="the bound")
    axes.plot(places, [100 * point.chance for point in points], ":", color=DARK, label="chance")
    axes.set_xticks(places, [_tick(point) for point in points])
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel("planted secrets guessed right (%)")
    axes.set_ylim(0, 103)
    axes.set_title(f"{campaign.attack.name} inference on {Path(campaign.data).stem}", fontsize=TITLE_SIZE)
    axes.grid(alpha=0.25)
    drawing.legend(columns=4)
    drawing.write(file)


def _tick(point: Point) -> str:
    return "none" if point.epsilon is None else f"{point.epsilon:g}"
