"""What a sweep has found: its finished cells, as an object, as JSON and as the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from graphveil.errors import GraphveilError
from graphveil.experiments.measures.measure import Apart, Reading
from graphveil.experiments.runs.cells import Cells
from graphveil.experiments.runs.format import NONE, PERCENT, value_text
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.statistics import SPREADS, Summary
from graphveil.experiments.sweeps.sweep import Cell, Sweep

# Parts that several lines may share, and what they are called.
BESIDE: dict[str, str] = {
    "structure": "structure",
    "edgeless": "no private links",
    "unasked": "volunteers alone",
}
# Where a cell stands: x, line and panel.
Place = tuple[int, int, int]
Found = TypeVar("Found")


@dataclass(frozen=True)
class SweepResult:
    """Results by their places on the axes (x, line, panel); cells that are not finished are missing.

    ``failed`` says of those that could not be run why. Where its measure does its own, ``apart`` holds what it found in place of
    results.
    """

    sweep: Sweep
    results: dict[Place, Result]
    interrupted: bool = False
    failed: tuple[str, ...] = ()
    apart: dict[Place, Reading] = field(default_factory=dict)

    @classmethod
    def of(cls, sweep: Sweep, cells: Sequence[Cell], done: Cells) -> SweepResult:
        """The results of the cells that are finished, and why there is none of those that could not be run."""
        finished: dict[Place, Result] = {}
        failed: list[str] = []
        for cell, result in zip(cells, done.results, strict=True):
            places = (cell.x, cell.line, cell.panel)
            if isinstance(result, GraphveilError):
                at = zip(sweep.axes, places, strict=False)
                where = ", ".join(axis.name(axis.values[place]) for axis, place in at)
                failed.append(f"{where}: {result}")
            elif result is not None:
                finished[places] = result
        return cls(sweep, finished, done.interrupted, tuple(failed))

    def at(self, *values: Any) -> Result | None:
        """The result at some values of the axes, in their order, where it is there."""
        places = [
            axis.values.index(value) if value in axis.values else -1
            for axis, value in zip(self.sweep.axes, values, strict=True)
        ]
        x, line, panel = (*places, 0, 0)[:3]
        return self.results.get((x, line, panel))

    @classmethod
    def of_readings(
        cls, sweep: Sweep, cells: Sequence[Cell], readings: Sequence[Apart], interrupted: bool
    ) -> SweepResult:
        """What a measure that does its own has found of the cells; where it could not, that is raised."""
        found: dict[Place, Reading] = {}
        for cell, reading in zip(cells, readings, strict=True):
            if isinstance(reading, GraphveilError):
                raise reading
            if reading is not None:
                found[cell.x, cell.line, cell.panel] = reading
        return cls(sweep, {}, interrupted, apart=found)

    @cached_property
    def readings(self) -> dict[Place, Reading]:
        """What was measured in each finished cell."""
        return self.apart or {place: self.sweep.measure.of(result) for place, result in self.results.items()}

    @property
    def panels(self) -> list[SweepResult]:
        """What each panel has found."""
        return [
            SweepResult(
                sweep,
                _of_panel(self.results, number),
                self.interrupted,
                apart=_of_panel(self.apart, number),
            )
            for number, sweep in enumerate(self.sweep.panels)
        ]

    @property
    def metric(self) -> str:
        """What the values are: of scores, which."""
        return self.sweep.measure.called(
            ", ".join(sorted({result.metric for result in self.results.values()}))
        )

    def summary(self, x: int, line: int, part: str) -> Summary | None:
        """Mean and interval of one part of one cell."""
        reading = self.readings.get((x, line, 0))
        return None if reading is None else reading.parts.get(part)

    @property
    def parts(self) -> list[str]:
        """The method, and its control where anything says something of it."""
        controlled = any("control" in reading.parts for reading in self.readings.values())
        return ["method", "control"] if controlled or not self.readings else ["method"]

    @property
    def notes(self) -> list[str]:
        """What is to be said beside the values: each note once, behind the cells that it is about where these are not all."""
        x, *more = self.sweep.axes
        about: dict[str, list[str]] = {}
        for (place, line, _), reading in sorted(self.readings.items()):
            lines = [axis.name(axis.values[line]) for axis in more]
            about.setdefault(reading.note, []).append(", ".join([x.name(x.values[place]), *lines]))
        whole = len(about) == 1
        return [note if whole else f"{'; '.join(cells)}: {note}" for note, cells in about.items() if note]

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
            head += [name, *self.parts[1:]]
        for part, title in BESIDE.items():
            shared = self.shared(part)
            head += [title] if len(shared) == 1 else [self._of_lines(title, lines) for lines, _ in shared]
        return head

    def rows(self) -> list[list[str]]:
        """A row for each value of x."""
        rows = []
        shared = [curve for part in BESIDE for _, curve in self.shared(part)]
        unit = self.sweep.measure.unit
        for x, value in enumerate(self.sweep.axes[0].values):
            row = [value_text(value)]
            for line in range(len(self.sweep.lines)):
                row += [unit.interval(self.summary(x, line, part)) for part in self.parts]
            rows.append(row + [unit.interval(dict(curve).get(x)) for curve in shared])
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
        axes, cells, measure = self.sweep.axes, [], self.sweep.measure
        for places, reading in self.readings.items():
            at = {
                axis.field or axis.label: axis.values[place]
                for axis, place in zip(axes, places, strict=False)
            }
            measured = {part: asdict(summary) for part, summary in reading.parts.items()}
            found = {} if places not in self.results else self.results[places].to_dict()
            cells.append({"at": at, "measured": measured, "note": reading.note or None, **found})
        return {
            "name": self.sweep.name,
            "title": self.sweep.title,
            "measure": self.sweep.measured,
            "unit": measure.unit.name,
            "axes": [
                {"field": axis.field, "label": axis.label, "values": list(axis.values)} for axis in axes
            ],
            "cells": cells,
            "failed": list(self.failed),
            "interrupted": self.interrupted,
        }


def _of_panel(found: Mapping[Place, Found], panel: int) -> dict[Place, Found]:
    """What was found in one panel, as if there were no other."""
    return {(x, line, 0): what for (x, line, at), what in found.items() if at == panel}
