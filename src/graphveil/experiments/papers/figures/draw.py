"""A computed figure as a picture: its panels, its findings above them, all lines below."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from graphveil.experiments.papers.figures.figure import ComputedFigure, Panel, Series
from graphveil.experiments.show.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.line_styles import BAND, line_style, reference_style

LEGEND_COLUMNS = 4


def write_computed(figure: ComputedFigure, title: str, file: Path) -> None:
    """Draw a figure to a file that `check_figure` has let pass."""
    _drawn(figure, title).write(file)


def computed_svg(figure: ComputedFigure, title: str) -> str:
    """The same as an SVG element, for a page, which says title and findings itself."""
    return _drawn(figure, title, headed=False).svg()


def _drawn(figure: ComputedFigure, title: str, *, headed: bool = True) -> Drawing:
    columns = min(figure.columns, len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    # Panels side by side of the same measure are compared with each other.
    shared = rows == 1 and len({(panel.y_label, "y" in panel.log) for panel in figure.panels}) == 1
    drawing = Drawing((WIDTH * columns, HEIGHT * rows), columns, rows, shared=shared)
    styles = _styles(figure)
    for axes, panel in zip(drawing.axes, figure.panels, strict=False):
        _draw(axes, panel, styles)
    # A scale that is shared is known when all panels are drawn.
    for axes, panel in zip(drawing.axes, figure.panels, strict=False):
        if "y" not in panel.log:
            axes.set_ylim(bottom=0)
    for axes in drawing.axes[len(figure.panels) :]:
        axes.set_axis_off()
    if headed:
        drawing.heading(title, figure.findings)
    drawing.legend(min(LEGEND_COLUMNS, 2 * columns), everywhere=True)
    return drawing


def _styles(figure: ComputedFigure) -> dict[str, dict[str, Any]]:
    """How each line is drawn, the same in all panels."""
    styles: dict[str, dict[str, Any]] = {}
    lines = references = 0
    last: dict[str, Any] = {}
    for series in (series for panel in figure.panels for series in panel.series):
        if series.label in styles:
            continue
        if series.role == "reference":
            styles[series.label] = reference_style(references)
            references += 1
        elif series.role == "companion" and last:
            styles[series.label] = {**last, "linestyle": "--"}
        else:
            # Open marks let a line show below another that is the same.
            last = line_style("method", lines) | {"fillstyle": "none"}
            styles[series.label] = last
            lines += 1
    return styles


def _draw(axes: Any, panel: Panel, styles: dict[str, dict[str, Any]]) -> None:
    for series in panel.series:
        _line(axes, series, styles[series.label])
    if "x" in panel.log:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
    if "y" in panel.log:
        axes.set_yscale("log")
        # A drawing shows texts as they are, so powers are no formulas.
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, fontsize=TITLE_SIZE)


def _line(axes: Any, series: Series, style: dict[str, Any]) -> None:
    points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    places, means = [x for x, _ in points], [y.mean for _, y in points]
    axes.plot(places, means, label=series.label, **style)
    lows = [y.mean if y.low is None else y.low for _, y in points]
    highs = [y.mean if y.high is None else y.high for _, y in points]
    axes.fill_between(places, lows, highs, color=style["color"], alpha=BAND, linewidth=0)
