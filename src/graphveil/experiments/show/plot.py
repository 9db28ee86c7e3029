"""Accuracy over ε, drawn once and embedded where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing, band
from graphveil.experiments.show.line_styles import BAND, Role, line_style


@dataclass(frozen=True)
class Line:
    """A curve over ε, or a constant that does not depend on it (one point, ``epsilons`` empty).

    A control belongs to the method before it.
    """

    label: str
    epsilons: tuple[float, ...]
    points: tuple[Summary, ...]
    role: Role = "method"


def accuracy_over_epsilon(lines: Sequence[Line], title: str, metric: str = "accuracy") -> str:
    """The plot as an SVG element, intervals included."""
    return accuracy_drawing(lines, title, metric).svg()


def accuracy_drawing(lines: Sequence[Line], title: str, metric: str = "accuracy") -> Drawing:
    """The plot, to be written to a file or shown."""
    drawing = Drawing((WIDTH, HEIGHT))
    axes, methods = drawing.axes[0], 0
    for line in lines:
        methods += line.role == "method"
        style = line_style(line.role, max(methods - 1, 0), flat=not line.epsilons)
        lows, means, highs = band(line.points)
        if line.epsilons:
            axes.plot(line.epsilons, means, label=line.label, **style)
            axes.fill_between(line.epsilons, lows, highs, color=style["color"], alpha=BAND, linewidth=0)
        else:
            axes.axhline(means[0], label=line.label, **style)
            axes.axhspan(lows[0], highs[0], color=style["color"], alpha=BAND, linewidth=0)
    axes.set_xscale("log", base=2)
    ticks = sorted({epsilon for line in lines for epsilon in line.epsilons})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel(f"{metric} on test users (%)")
    axes.set_title(title, fontsize=TITLE_SIZE)
    drawing.legend(columns=2)
    return drawing
