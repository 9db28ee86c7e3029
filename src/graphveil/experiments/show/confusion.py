"""Which classes are taken for which, and how well each is found: pictures of plain arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.experiments.show.colours import INK, LINES, METHOD
from graphveil.experiments.show.figure import TEXT_SIZE, TITLE_SIZE, WIDTH, Drawing
from graphveil.graphs.metrics import ClassScore

# Of more classes the numbers in the cells could not be read.
MOST_NUMBERS = 12
# How strongly a cell is coloured whose share is all of its row.
STRONGEST = 0.75


def confusion_drawing(counts: NDArray[np.int64], title: str, names: Sequence[str] | None = None) -> Drawing:
    """Users of each class (rows) by the class that they were given (columns): shares of rows as shades, in percent."""
    classes = len(counts)
    if counts.shape != (classes, classes) or classes < 1:
        raise InputError(f"counts must be a square table of classes, got the shape {counts.shape}")
    names = names or [str(number) for number in range(classes)]
    have = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(have, 1)
    drawing = Drawing((WIDTH, WIDTH * 0.9))
    axes = drawing.axes[0]
    axes.grid(visible=False)
    for true, given in np.ndindex(counts.shape):
        share = float(shares[true, given])
        axes.axvspan(
            given - 0.5,
            given + 0.5,
            ymin=(classes - 1 - true) / classes,
            ymax=(classes - true) / classes,
            color=METHOD.day,
            alpha=STRONGEST * share,
            linewidth=0,
        )
        if classes <= MOST_NUMBERS:
            weight = "bold" if true == given else "normal"
            axes.text(
                given, true, f"{100 * share:.0f}", ha="center", va="center", fontsize=TEXT_SIZE, weight=weight
            )
    places = range(classes)
    axes.set_xticks(places, names)
    axes.set_yticks(places, [f"{name} ({count:,})" for name, count in zip(names, have[:, 0], strict=True)])
    axes.set_xlim(-0.5, classes - 0.5)
    axes.set_ylim(classes - 0.5, -0.5)
    axes.set_xlabel("class that was given")
    axes.set_ylabel("true class (test users)")
    axes.set_title(f"{title}: percent of each class", fontsize=TITLE_SIZE)
    return drawing


def class_scores_drawing(
    scores: Sequence[ClassScore], title: str, names: Sequence[str] | None = None
) -> Drawing:
    """Precision, recall and F1 of each class, one line a class; what is not defined is left out."""
    if not scores:
        raise InputError("there are no classes to draw")
    names = names or [str(score.number) for score in scores]
    drawing = Drawing((WIDTH, 1.5 + 0.36 * len(scores)))
    axes = drawing.axes[0]
    kinds = (("precision", "<"), ("recall", ">"), ("F1", "o"))
    for (kind, mark), tone in zip(kinds, LINES, strict=False):
        values = [(place, getattr(score, kind.lower())) for place, score in enumerate(scores)]
        known = [(100 * value, place) for place, value in values if value is not None]
        axes.plot(
            [x for x, _ in known], [y for _, y in known], mark, color=tone.day, markersize=8, label=kind
        )
    axes.set_yticks(
        range(len(scores)), [f"{name} ({score.have:,})" for name, score in zip(names, scores, strict=True)]
    )
    axes.set_ylim(len(scores) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.axvline(100, color=INK.day, linewidth=0.8)
    axes.set_xlabel("percent of test users")
    axes.set_ylabel("class (users)")
    axes.set_title(title, fontsize=TITLE_SIZE)
    drawing.legend(columns=3)
    return drawing
