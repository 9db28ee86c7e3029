"""A computed figure: panels of lines and what they say, as an object, as JSON and as the rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from graphveil.experiments.runs.format import NONE, NUMBER
from graphveil.experiments.runs.statistics import Summary

# What is computed now, and which share of all is done.
Progress = Callable[[str, float], None]
# A companion belongs to the line before it, and has its colour; a reference is what there is without any mechanism.
Role = Literal["line", "companion", "reference"]


@dataclass(frozen=True)
class Series:
    """One line: a number at each x, with its interval where it was drawn at random. None where there is no number."""

    label: str
    x: tuple[float, ...]
    y: tuple[Summary | None, ...]
    note: str = ""
    role: Role = "line"

    def at(self, x: float) -> Summary | None:
        """The number at this x."""
        return dict(zip(self.x, self.y, strict=True)).get(x)

    def to_dict(self) -> dict[str, Any]:
        """The line in the form that `--json` prints."""
        return {
            "label": self.label,
            "role": self.role,
            "x": list(self.x),
            "y": [None if each is None else each.mean for each in self.y],
            "low": [None if each is None else each.low for each in self.y],
            "high": [None if each is None else each.high for each in self.y],
            "note": self.note or None,
        }


@dataclass(frozen=True)
class Panel:
    """Lines over one x. ``log`` names the axes that have a logarithmic scale."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log: Literal["", "x", "y", "xy"] = ""

    @property
    def x(self) -> list[float]:
        """All x that some line has."""
        return sorted({x for series in self.series for x in series.x})

    def head(self) -> list[str]:
        """The head of the table: what x is, and each x."""
        return [self.x_label, *(f"{x:g}" for x in self.x), ""]

    def rows(self) -> list[list[str]]:
        """A row for each line, its note behind it."""
        return [
            [series.label, *(NUMBER.interval(series.at(x)) for x in self.x), series.note]
            for series in self.series
        ]

    def to_dict(self) -> dict[str, Any]:
        """The panel in the form that `--json` prints."""
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "series": [series.to_dict() for series in self.series],
        }


@dataclass(frozen=True)
class ComputedFigure:
    """Panels, in rows of ``columns``, and sentences that follow from their numbers."""

    panels: tuple[Panel, ...]
    findings: tuple[str, ...] = ()
    columns: int = 2

    def to_dict(self) -> dict[str, Any]:
        """The figure in the form that `--json` prints."""
        return {"panels": [panel.to_dict() for panel in self.panels], "findings": list(self.findings)}


@dataclass(frozen=True)
class Terms:
    """What a figure is computed from: a graph, where it needs one, and so many runs, where it draws at random.

    ``runs`` None is as many as the figure has. ``quick`` is one run at few values, to see that it works.
    """

    data: str = ""
    runs: int | None = None
    quick: bool = False
    progress: Progress = lambda what, share: None


def spans(chosen: Sequence[float], among: Sequence[float]) -> str:
    """Some of the values of an axis in words: neighbours are joined.

    >>> spans([1, 2, 3, 9], [0.5, 1, 2, 3, 4, 9]), spans([1, 2], [1, 2, 3]), spans([], [1])
    ('1 to 3 and 9', '1 and 2', '-')
    """
    runs: list[list[float]] = []
    for place, value in enumerate(among):
        if value in chosen:
            joined = place and among[place - 1] in chosen
            runs[-1].append(value) if joined else runs.append([value])
    told = []
    for run in runs:
        told += [f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run]
    if not told:
        return NONE
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
