"""Accuracy over ε, drawn once and embedded where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import COLOURS, TITLE_SIZE, Drawing, band


@dataclass(frozen=True)
class Line:
    """A curve over ε, or a constant that does not depend on it (one point, ``epsilons`` empty).

    A line that belongs to the one before it has its colour, and is dashed.
    """

    label: str
    epsilons: tuple[float, ...]
    points: tuple[Summary, ...]
    companion: bool = False


def accuracy_over_epsilon(lines: Sequence[Line], title: str, metric: str = "accuracy") -> str:
    """The plot as an SVG element, intervals included."""
    drawing = Drawing((7.2, 4.2))
    axes, colours, colour = drawing.axes[0], cycle(COLOURS), COLOURS[0]
    for line in lines:
        colour = colour if line.companion else next(colours)
        lows, means, highs = band(line.points)
        if line.epsilons:
            style = "--" if line.companion else "-"
            axes.plot(line.epsilons, means, style, marker="o", color=colour, label=line.label)
            axes.fill_between(line.epsilons, lows, highs, color=colour, alpha=0.18, linewidth=0)
        else:
            axes.axhline(means[0], color=colour, linestyle="--", label=line.label)
            axes.axhspan(lows[0], highs[0], color=colour, alpha=0.12, linewidth=0)
    axes.set_xscale("log", base=2)
    ticks = sorted({epsilon for line in lines for epsilon in line.epsilons})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel(f"{metric} on test users (%)")
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.grid(alpha=0.25)
    drawing.legend(columns=2)
    return drawing.svg()
