"""Numbers that a document's text has of a figure: they stand beside ours, as a table does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.runs.format import NONE, PERCENT
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.statistics import Summary, t_interval
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import Sweep

HEAD = ("in the text", "theirs", "ours", "control", "structure")
PARTS = ("method", "control", "structure")


@dataclass(frozen=True)
class PrintedPoint:
    """A number in the text, as it says it (``theirs``), at some values of the axes of a sweep.

    ``over``: it is how much more than at these other values.
    """

    at: tuple[Any, ...]
    theirs: str
    over: tuple[Any, ...] = ()

    def check(self, sweep: Sweep, where: str) -> None:
        """Refuse a point that the sweep does not have."""
        for place in (self.at, self.over or self.at):
            axes = sweep.axes
            if len(place) != len(axes) or any(
                value not in axis.values for axis, value in zip(axes, place, strict=False)
            ):
                raise InputError(
                    f"{where}: {sweep.name} has no point {list(place)!r}: name a value of each of its {len(axes)} axes"
                )

    def row(self, result: SweepResult) -> list[str]:
        """Where it is, theirs, and ours with control and structure; what is missing is not run here."""
        one = result.at(*self.at)
        other = result.at(*self.over) if self.over else None
        there = one is not None and (other is not None or not self.over)
        ours = [PERCENT.interval(_summary(one, other, part)) if there else NONE for part in PARTS]
        if self.over:
            # Whatever they compare, it is the same for both.
            ours[-1] = NONE
        return [self.words(result.sweep), self.theirs, *ours]

    def words(self, sweep: Sweep) -> str:
        """Where it is, in words; of what it is compared with only what differs."""
        said = _named(sweep, self.at)
        if not self.over:
            return ", ".join(said)
        other = [name for name in _named(sweep, self.over) if name not in said]
        return f"{', '.join(said)}, over {', '.join(other)}"


def _named(sweep: Sweep, place: Sequence[Any]) -> list[str]:
    return [axis.name(value) for axis, value in zip(sweep.axes, place, strict=True)]


def _summary(one: Result | None, other: Result | None, part: str) -> Summary | None:
    """The mean over runs, or that of differences run by run; None where the part is not there."""
    scores = [] if one is None else one.scores(part)
    if other is not None:
        less = other.scores(part)
        scores = [a - b for a, b in zip(scores, less, strict=True)] if len(less) == len(scores) else []
    return t_interval(scores) if scores else None
