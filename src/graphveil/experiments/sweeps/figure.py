"""The figure of a sweep: a line each, its control dashed, structure dotted, with intervals."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from graphveil.experiments.runs.format import value_text
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing, band
from graphveil.experiments.show.line_styles import BAND, Role, line_style
from graphveil.experiments.sweeps.result import BESIDE, SweepResult

# Letters of a title in one line.
TITLE_WIDTH = 48
# What stands beside the lines, where it is there.
BESIDE_ROLES: tuple[Role, ...] = ("structure", "edgeless", "unasked")
# So many panels stand side by side, with one scale; more of them are about different graphs.
MOST_BESIDE = 3


def write_figure(result: SweepResult, file: Path) -> None:
    """Draw a sweep to a file that `check_figure` has let pass."""
    _drawn(result).write(file)


def sweep_svg(result: SweepResult) -> str:
    """The same as an SVG element, for a page."""
    return _drawn(result).svg()


def _drawn(result: SweepResult) -> Drawing:
    """Panels side by side; values of x stand at equal distances, in their order."""
    panels = result.panels
    columns = min(len(panels), MOST_BESIDE)
    rows = math.ceil(len(panels) / columns)
    size = (WIDTH if columns == 1 else 0.85 * WIDTH * columns, HEIGHT * rows)
    drawing = Drawing(size, columns, rows, shared=rows == 1)
    for axes, panel, title in zip(drawing.axes, panels, _titles(result), strict=False):
        _draw_panel(axes, panel, title)
    for axes in drawing.axes[len(panels) :]:
        axes.set_visible(False)
    for first in range(0, len(panels), columns):
        drawing.axes[first].set_ylabel(result.sweep.measure.unit.axis(result.metric))
    if len(panels) > 1:
        drawing.heading(result.sweep.title, [])
    drawing.legend(columns=2 if len(panels) == 1 else 4)
    return drawing


def _titles(result: SweepResult) -> list[str]:
    """What stands above each panel: the value of the third axis, below a heading of all; the title where there is one panel."""
    sweep = result.sweep
    if len(sweep.axes) < 3 or len(sweep.axes[2].values) == 1:
        return [panel.sweep.title for panel in result.panels]
    return [sweep.axes[2].name(value) for value in sweep.axes[2].values]


def _draw_panel(axes: Any, result: SweepResult, title: str) -> None:
    x, factor = result.sweep.axes[0], result.sweep.measure.unit.factor
    for line, name in enumerate(result.sweep.lines):
        _draw(axes, result.curve(line, "method"), factor, name, line_style("method", line))
        _draw(axes, result.curve(line, "control"), factor, "its control (ε = 0)", line_style("control", line))
    for role in BESIDE_ROLES:
        shared = result.shared(role)
        for lines, curve in shared:
            style = line_style(role)
            if len(shared) > 1:
                # Each belongs to lines of its own: it has the mark of the first.
                style |= {"marker": line_style("method", lines[0])["marker"], "fillstyle": "none"}
            _draw(axes, curve, factor, BESIDE[role], style)
    axes.set_xticks(range(len(x.values)), [value_text(value) for value in x.values])
    axes.set_xlabel(x.label)
    axes.set_title(textwrap.fill(title, TITLE_WIDTH), fontsize=TITLE_SIZE)


def _draw(
    axes: Any, curve: list[tuple[int, Summary]], factor: float, label: str, style: dict[str, Any]
) -> None:
    if not curve:
        return
    places, points = zip(*curve, strict=True)
    lows, means, highs = band(points, factor)
    axes.plot(places, means, label=label, **style)
    axes.fill_between(places, lows, highs, color=style["color"], alpha=BAND, linewidth=0)
