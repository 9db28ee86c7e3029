"""Users in a picture: a part of the graph with truth and prediction, and a map of what was learned of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.experiments.show.colours import FAINT, INK, LINES, RULE
from graphveil.experiments.show.figure import TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.line_styles import MARKS
from graphveil.graphs.graph import UNKNOWN

Classes = NDArray[np.int64]


def graph_drawing(
    places: NDArray[np.float64], pairs: NDArray[np.int64], truth: Classes, given: Classes, title: str
) -> Drawing:
    """Users at their places with their links: what they are, and what was predicted; who is taken for another has a ring."""
    drawing = Drawing((1.6 * WIDTH, 0.85 * WIDTH), 2, shared=False)
    wrong = truth != given
    shown = ((truth, "truth", None), (given, f"predicted, {int(wrong.sum())} of {len(truth)} wrong", wrong))
    for axes, (classes, words, marked) in zip(drawing.axes, shown, strict=True):
        # One line that is broken between links: many lines would make a large file.
        links = np.full((pairs.shape[1], 3, 2), np.nan)
        links[:, :2] = places[pairs].transpose(1, 0, 2)
        axes.plot(links[:, :, 0].ravel(), links[:, :, 1].ravel(), color=RULE.day, linewidth=0.5, zorder=1)
        _dots(axes, places, classes, 20)
        if marked is not None and marked.any():
            ring = {"facecolors": "none", "edgecolors": INK.day, "linewidths": 1.2}
            axes.scatter(places[marked, 0], places[marked, 1], 55, label="wrong", zorder=3, **ring)
        axes.set_title(f"{title}: {words}" if marked is None else words, fontsize=TITLE_SIZE)
        _bare(axes)
    drawing.legend(columns=8, everywhere=True)
    return drawing


def map_drawing(places: NDArray[np.float64], classes: Classes, title: str) -> Drawing:
    """Users at the places of a map, coloured and marked by class; those whose class is not known are pale, below the others."""
    drawing = Drawing((WIDTH, 0.9 * WIDTH))
    axes = drawing.axes[0]
    _dots(axes, places, classes, 16)
    axes.set_title(title, fontsize=TITLE_SIZE)
    _bare(axes)
    drawing.legend(columns=6)
    return drawing


def _dots(axes: Any, places: NDArray[np.float64], classes: Classes, size: float) -> None:
    for number in np.unique(classes).tolist():
        of, known = classes == number, number != UNKNOWN
        axes.scatter(
            places[of, 0],
            places[of, 1],
            size if known else size / 2,
            color=(LINES[number % len(LINES)] if known else RULE).day,
            marker=MARKS[number % len(MARKS) if known else 0],
            linewidths=0,
            label=f"class {number}" if known else "class not known",
            zorder=2 if known else 1,
        )


def _bare(axes: Any) -> None:
    """Directions mean nothing here."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(FAINT.day)
        spine.set_linewidth(0.6)
