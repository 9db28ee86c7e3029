"""The figure of a sweep: a line each, its control dashed, structure dotted, with intervals."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from graphveil.experiments.runs.format import value_text
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import COLOURS, TITLE_SIZE, Drawing, percent_band
from graphveil.experiments.sweeps.result import BESIDE, SweepResult

# Letters of a title in one line.
TITLE_WIDTH = 64
# Structure is dark grey, so no line is grey.
DARK = "#444444"
BESIDE_STYLES = {"structure": ":", "edgeless": "-."}
LINES = tuple(colour for colour in COLOURS if colour != "#b8b8b8")
# Lines of one colour differ by their marks.
MARKS = ("o", "s", "^", "D")
# So many panels stand side by side, with one scale; more of them are about different graphs.
MOST_BESIDE = 3


def write_figure(result: SweepResult, file: Path) -> None:
    """Draw a sweep, panels side by side; values of x stand at equal distances, in their order."""
    panels = result.panels
    columns = min(len(panels), MOST_BESIDE)
    rows = math.ceil(len(panels) / columns)
    size = (7.2 if columns == 1 else 4.6 * columns, 4.2 * rows)
    drawing = Drawing(size, columns, rows, shared=rows == 1)
    for axes, panel in zip(drawing.axes, panels, strict=False):
        _draw_panel(axes, panel)
    for axes in drawing.axes[len(panels) :]:
        axes.set_visible(False)
    for first in range(0, len(panels), columns):
        drawing.axes[first].set_ylabel(f"{result.metric} (%)")
    drawing.legend(columns=2 if len(panels) == 1 else 4)
    drawing.write(file)


def _draw_panel(axes: Any, result: SweepResult) -> None:
    x = result.sweep.axes[0]
    for line, name in enumerate(result.sweep.lines):
        colour = LINES[line % len(LINES)]
        mark = MARKS[line // len(LINES) % len(MARKS)]
        _draw(axes, result.curve(line, "method"), "-", colour, name, mark)
        _draw(axes, result.curve(line, "control"), "--", colour, "its control (ε = 0)", mark)
    for part, style in BESIDE_STYLES.items():
        shared = result.shared(part)
        for lines, curve in shared:
            colour = DARK if len(shared) == 1 else LINES[lines[0] % len(LINES)]
            _draw(axes, curve, style, colour, BESIDE[part], marker="")
    axes.set_xticks(range(len(x.values)), [value_text(value) for value in x.values])
    axes.set_xlabel(x.label)
    axes.set_title(textwrap.fill(result.sweep.title, TITLE_WIDTH), fontsize=TITLE_SIZE)
    axes.grid(alpha=0.25)


def _draw(
    axes: Any, curve: list[tuple[int, Summary]], style: str, colour: str, label: str, marker: str = "o"
) -> None:
    if not curve:
        return
    places, points = zip(*curve, strict=True)
    lows, means, highs = percent_band(points)
    axes.plot(places, means, style, marker=marker, color=colour, label=label)
    axes.fill_between(places, lows, highs, color=colour, alpha=0.15, linewidth=0)
