"""The figure of a campaign: how often guesses are right over ε, beside control, chance and bound."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.campaigns.campaign import Campaign, Point
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing, band
from graphveil.experiments.show.line_styles import BAND, Role, line_style


def write_campaign_figure(campaign: Campaign, file: Path) -> None:
    """Draw a campaign to a file that `check_figure` has let pass."""
    campaign_drawing(campaign).write(file)


def campaign_drawing(campaign: Campaign) -> Drawing:
    """A campaign, budgets at equal distances in their order; an attack above its bound is a broken promise."""
    drawing = Drawing((WIDTH, HEIGHT))
    axes, points = drawing.axes[0], campaign.points
    places = list(range(len(points)))
    lines: list[tuple[str, list[Summary], Role]] = [
        (f"attack on {campaign.against}", [point.found for point in points], "method"),
        ("the control", [point.control for point in points], "control"),
    ]
    for label, curve, role in lines:
        lows, means, highs = band(curve)
        style = line_style(role)
        axes.plot(places, means, label=label, **style)
        axes.fill_between(places, lows, highs, color=style["color"], alpha=BAND, linewidth=0)
    bounds, chances = [100 * point.bound for point in points], [100 * point.chance for point in points]
    axes.plot(places, bounds, label="the bound", marker="_", **line_style("limit"))
    axes.plot(places, chances, label="chance", **line_style("chance"))
    axes.set_xticks(places, [_tick(point) for point in points])
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel("planted secrets guessed right (%)")
    axes.set_ylim(0, 103)
    axes.set_title(f"{campaign.attack.name} inference on {Path(campaign.data).stem}", fontsize=TITLE_SIZE)
    drawing.legend(columns=4)
    return drawing


def _tick(point: Point) -> str:
    return "none" if point.epsilon is None else f"{point.epsilon:g}"
