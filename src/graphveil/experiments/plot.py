"""Accuracy over ε, drawn once and embedded where it is shown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from graphveil.experiments.statistics import Summary

COLOURS = ("#1b6ca8", "#b8b8b8", "#3a7d44", "#c1440e", "#7b4fa3", "#8a6d3b")


@dataclass(frozen=True)
class Line:
    """A curve over ε, or a level that does not depend on it (one point, ``epsilons`` empty)."""

    label: str
    epsilons: tuple[float, ...]
    points: tuple[Summary, ...]


def accuracy_over_epsilon(lines: Sequence[Line], title: str) -> str:
    """The plot as an SVG element, intervals included."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Fixed ids and no date: the same results give the same file.
    with pyplot.rc_context({"svg.hashsalt": "graphveil", "svg.fonttype": "path", "font.size": 11}):
        figure, axes = pyplot.subplots(figsize=(7.2, 4.2))
        for colour, line in zip(COLOURS * len(lines), lines, strict=False):
            means = [100 * point.mean for point in line.points]
            lows = [100 * (point.mean if point.low is None else point.low) for point in line.points]
            highs = [100 * (point.mean if point.high is None else point.high) for point in line.points]
            if line.epsilons:
                axes.plot(line.epsilons, means, marker="o", color=colour, label=line.label)
                axes.fill_between(line.epsilons, lows, highs, color=colour, alpha=0.18, linewidth=0)
            else:
                axes.axhline(means[0], color=colour, linestyle="--", label=line.label)
                axes.axhspan(lows[0], highs[0], color=colour, alpha=0.12, linewidth=0)
        axes.set_xscale("log", base=2)
        ticks = sorted({epsilon for line in lines for epsilon in line.epsilons})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("privacy budget ε")
        axes.set_ylabel("accuracy on test users (%)")
        axes.set_title(title)
        axes.grid(alpha=0.25)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
        figure.tight_layout()
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
