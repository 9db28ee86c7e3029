"""The figure of a sweep: a line each, its control dashed, structure dotted, with intervals."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from graphveil.experiments.runs.format import value_text
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import COLOURS, TITLE_SIZE, Drawing, band
from graphveil.experiments.sweeps.result import BESIDE, SweepResult

# Letters of a title in one line.
TITLE_WIDTH = 64
# Structure is dark grey, so no line is grey.
DARK = "#444444"
BESIDE_STYLES: dict[str, Any] = {"structure": ":", "edgeless": "-.", "unasked": (0, (5, 1, 1, 1, 1, 1))}
LINES = tuple(colour for colour in COLOURS if colour != "#b8b8b8")
# Lines of one colour differ by their marks.
MARKS = ("o", "s", "^", "D")
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
    size = (7.2 if columns == 1 else 4.6 * columns, 4.2 * rows)
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
        colour = LINES[line % len(LINES)]
        mark = MARKS[line // len(LINES) % len(MARKS)]
        _draw(axes, result.curve(line, "method"), factor, "-", colour, name, mark)
        _draw(axes, result.curve(line, "control"), factor, "--", colour, "its control (ε = 0)", mark)
    for part, style in BESIDE_STYLES.items():
        shared = result.shared(part)
        for lines, curve in shared:
            colour = DARK if len(shared) == 1 else LINES[lines[0] % len(LINES)]
            _draw(axes, curve, factor, style, colour, BESIDE[part], marker="")
    axes.set_xticks(range(len(x.values)), [value_text(value) for value in x.values])
    axes.set_xlabel(x.label)
    axes.set_title(textwrap.fill(title, TITLE_WIDTH), fontsize=TITLE_SIZE)
    axes.grid(alpha=0.25)


def _draw(
    axes: Any,
    curve: list[tuple[int, Summary]],
    factor: float,
    style: Any,
    colour: str,
    label: str,
    marker: str = "o",
) -> None:
    if not curve:
        return
    places, points = zip(*curve, strict=True)
    lows, means, highs = band(points, factor)
    axes.plot(places, means, linestyle=style, marker=marker, color=colour, label=label)
    axes.fill_between(places, lows, highs, color=colour, alpha=0.15, linewidth=0)
