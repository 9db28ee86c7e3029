"""What a sweep has found: its finished cells, as an object, as JSON and as the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.runs.cells import Cells
from graphveil.experiments.runs.format import NONE, PERCENT, value_text
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.statistics import SPREADS, Summary, t_interval
from graphveil.experiments.sweeps.sweep import Cell, Sweep

# Parts that several lines may share, and what they are called.
BESIDE = {"structure": "structure", "edgeless": "no private links"}


@dataclass(frozen=True)
class SweepResult:
    """Results by their places on the axes (x, line, panel); cells that are not finished are missing."""

    sweep: Sweep
    results: dict[tuple[int, int, int], Result]
    interrupted: bool = False

    @classmethod
    def of(cls, sweep: Sweep, cells: Sequence[Cell], done: Cells) -> SweepResult:
        """The results of the cells that are finished."""
        both = zip(cells, done.results, strict=True)
        finished = {
            (cell.x, cell.line, cell.panel): result
            for cell, result in both
            if result is not None and not isinstance(result, GraphveilError)
        }
        return cls(sweep, finished, done.interrupted)

    @property
    def panels(self) -> list[SweepResult]:
        """What each panel has found."""
        return [
            SweepResult(
                sweep,
                {(x, line, 0): result for (x, line, at), result in self.results.items() if at == number},
                self.interrupted,
            )
            for number, sweep in enumerate(self.sweep.panels)
        ]

    @property
    def metric(self) -> str:
        """What the scores are."""
        return ", ".join(sorted({result.metric for result in self.results.values()}))

    def summary(self, x: int, line: int, part: str) -> Summary | None:
        """Mean and interval of one part of one cell."""
        result = self.results.get((x, line, 0))
        scores = [] if result is None else result.scores(part)
        return t_interval(scores) if scores else None

    def curve(self, line: int, part: str) -> list[tuple[int, Summary]]:
        """One part along a line, with its places on x."""
        places = range(len(self.sweep.axes[0].values))
        return [(x, summary) for x in places if (summary := self.summary(x, line, part)) is not None]

    def shared(self, part: str) -> list[tuple[list[int], list[tuple[int, Summary]]]]:
        """What structure gives, or the same without edges, once for all lines that share it, with the lines that do."""
        shared: list[tuple[list[int], list[tuple[int, Summary]]]] = []
        for line in range(len(self.sweep.lines)):
            curve = self.curve(line, part)
            same = next((lines for lines, other in shared if other == curve), None)
            if same is not None:
                same.append(line)
            elif curve:
                shared.append(([line], curve))
        return shared

    def head(self) -> list[str]:
        """The head of the table."""
        head = [self.sweep.axes[0].label]
        for name in self.sweep.lines:
            head += [name, "control"]
        for part, title in BESIDE.items():
            shared = self.shared(part)
            head += [title] if len(shared) == 1 else [self._of_lines(title, lines) for lines, _ in shared]
        return head

    def rows(self) -> list[list[str]]:
        """A row for each value of x."""
        rows = []
        shared = [curve for part in BESIDE for _, curve in self.shared(part)]
        for x, value in enumerate(self.sweep.axes[0].values):
            row = [value_text(value)]
            for line in range(len(self.sweep.lines)):
                row += [PERCENT.interval(self.summary(x, line, part)) for part in ("method", "control")]
            rows.append(row + [PERCENT.interval(dict(curve).get(x)) for curve in shared])
        return rows

    def spread_rows(self) -> list[list[str]]:
        """Means with what the document draws around them: a row for each value of x, a column a line."""
        rows = []
        for x, value in enumerate(self.sweep.axes[0].values):
            cells = [self.results.get((x, line, 0)) for line in range(len(self.sweep.lines))]
            rows.append([value_text(value), *(self._with_spread(cell) for cell in cells)])
        return rows

    def _with_spread(self, cell: Result | None) -> str:
        if cell is None:
            return NONE
        scores = [100 * score for score in cell.scores("method")]
        return PERCENT.with_spread(sum(scores) / len(scores), SPREADS[self.sweep.spread].of(scores))

    def also_rows(self, name: str) -> list[list[str]]:
        """What was measured besides the score: a row for each value of x, a column a line, means in percent."""
        rows = []
        for x, value in enumerate(self.sweep.axes[0].values):
            cells = [self.results.get((x, line, 0)) for line in range(len(self.sweep.lines))]
            measured = [
                [unit.also[name] for unit in cell.of("method") if name in unit.also] if cell else []
                for cell in cells
            ]
            means = [PERCENT.number(100 * sum(each) / len(each)) if each else NONE for each in measured]
            rows.append([value_text(value), *means])
        return rows

    def _of_lines(self, title: str, lines: list[int]) -> str:
        return f"{title} ({'; '.join(self.sweep.lines[line] for line in lines)})"

    def to_dict(self) -> dict[str, Any]:
        """The sweep in the form that `--json` prints."""
        axes, cells = self.sweep.axes, []
        for places, result in self.results.items():
            at = {
                axis.field or axis.label: axis.values[place]
                for axis, place in zip(axes, places, strict=False)
            }
            cells.append({"at": at, **result.to_dict()})
        return {
            "name": self.sweep.name,
            "title": self.sweep.title,
            "axes": [
                {"field": axis.field, "label": axis.label, "values": list(axis.values)} for axis in axes
            ],
            "cells": cells,
            "interrupted": self.interrupted,
        }
