"""The figure of one result: its score beside control and structure."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.runs.figures import register_figure
from graphveil.experiments.runs.format import budget
from graphveil.experiments.runs.parts import PARTS
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.statistics import t_interval
from graphveil.experiments.show.figure import TITLE_SIZE, WIDTH, Drawing, band, check_figure
from graphveil.experiments.show.line_styles import Role, line_style


@register_figure("score")
def draw_scores(result: Result, file: Path) -> None:
    """A dot for each part with its 95% interval, and a small one for each run."""
    check_figure(file)
    parts = {name: part.title for name, part in PARTS.items() if result.of(name)}
    drawing = Drawing((WIDTH, 1.2 + 0.5 * len(parts)))
    (axes,) = drawing.axes
    for place, part in enumerate(parts):
        role: Role = "no privacy" if part == "method" and result.spec.budgets.epsilon is None else part
        colour = line_style(role)["color"]
        scores = result.scores(part)
        (low,), (mean,), (high,) = band([t_interval(scores)])
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([100 * score for score in scores], [place] * len(scores), "|", color=colour, markersize=9)
        axes.plot([mean], [place], "o", color=colour, markersize=8)
    spec = result.spec
    own = spec.method if spec.budgets.epsilon is None else f"{spec.method}, {budget(spec.budgets.epsilon)}"
    axes.set_yticks(range(len(parts)), [name or own for name in parts.values()])
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlabel(f"{result.metric} (%), with 95% intervals")
    axes.set_title(f"{spec.method} on {spec.data}", fontsize=TITLE_SIZE)
    drawing.write(file)
