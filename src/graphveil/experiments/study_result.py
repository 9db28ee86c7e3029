"""What a study has found: its finished cells, as an object, as JSON, as tables and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from graphveil.engine.engine import HERE, Engine
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.database import RESULTS
from graphveil.experiments.experiment import Experiment, Given, Part, take_data
from graphveil.experiments.experiment_file import experiment_fields
from graphveil.experiments.figure import FREE, Chart, Panel, Role, Series
from graphveil.experiments.measures import PARTS, Apart, Measure, Reading, all_apart
from graphveil.experiments.result import Result
from graphveil.experiments.result_store import ResultStore
from graphveil.experiments.study import Cell, ReadySweep, Sweep, find_sweep, ready, sweep_of
from graphveil.experiments.study_runner import Cells, run_cells
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.graphs.users import Users
from graphveil.number_format import NONE, PERCENT, value_text
from graphveil.statistics import SPREADS, Summary

# Parts that several lines may share, and what they are called.
BESIDE: dict[Role, str] = {
    "structure": "structure",
    "edgeless": "no private links",
    "unasked": "volunteers alone",
}
# So many panels stand side by side, with one scale; more of them are about different graphs.
MOST_BESIDE = 3
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
    def chart(self) -> Chart:
        """The figure: a panel for each value of the third axis."""
        panels, y_label = self.panels, self.sweep.measure.unit.axis(self.metric)
        drawn = tuple(
            _panel(panel, title, y_label) for panel, title in zip(panels, _titles(self), strict=True)
        )
        return Chart(drawn, columns=MOST_BESIDE, title=self.sweep.title if len(panels) > 1 else "")

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


def _titles(result: SweepResult) -> list[str]:
    """What stands above each panel: the value of the third axis, below a heading of all; the title where there is one panel."""
    sweep = result.sweep
    if len(sweep.axes) < 3 or len(sweep.axes[2].values) == 1:
        return [panel.sweep.title for panel in result.panels]
    return [sweep.axes[2].name(value) for value in sweep.axes[2].values]


def _panel(result: SweepResult, title: str, y_label: str) -> Panel:
    """The lines of one panel; values of x stand at equal distances, in their order."""
    sweep, drawn = result.sweep, []

    def add(label: str, curve: list[tuple[int, Summary]], role: Role, mark_of: str = "") -> None:
        places, points = tuple(x for x, _ in curve), tuple(point for _, point in curve)
        drawn.append(Series(label, places, points, role=role, mark_of=mark_of))

    for line, name in enumerate(sweep.lines):
        add(name, result.curve(line, "method"), "method")
        add("its control (ε = 0)", result.curve(line, "control"), "control")
    for role, name in BESIDE.items():
        shared = result.shared(role)
        for lines, curve in shared:
            # Where each belongs to lines of its own, it has the mark of the first.
            add(name, curve, role, sweep.lines[lines[0]] if len(shared) > 1 else "")
    ticks = tuple(value_text(value) for value in sweep.axes[0].values)
    unit = sweep.measure.unit
    return Panel(title, sweep.axes[0].label, y_label, tuple(drawn), "", ticks, unit, FREE)


# Runs the specs, without some parts, keeping results or not, some alone.
RunCells = Callable[[Sequence[Experiment], tuple[Part, ...], bool, Sequence[bool]], Cells]
# Measures what needs no learning; and whether that was interrupted.
RunApart = Callable[[Sequence[tuple[Measure, Experiment]]], tuple[list[Apart], bool]]
NAME = "sweep"


def sweep(
    method: str,
    data: Any = None,
    users: Users | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    measure: str | None = None,
    jobs: int | None = None,
    engine: str | Engine = HERE,
    fresh: bool = False,
    keep: bool = True,
    **options: Any,
) -> SweepResult:
    """An experiment over the values of one to three of its fields: the first is x, the second gives lines, the third panels.

    ``over`` names the fields, a setting as settings.KEY, each with its values; ``data`` and options are as in `run`. Without
    ``over``, ``method`` is a sweep that comes along (`graphveil sweep` lists them) or a .toml file, and options are fields of its
    base. Finished runs on named data are reused unless ``fresh``; results are kept unless ``keep`` is False.

    >>> options = {"keep": False, "control": False, "settings": {"epochs": 2, "data.users": 400}}
    >>> found = sweep("base", "town", over={"epsilon": [1.0, 4.0]}, **options)
    >>> [len(found.at(epsilon).scores()) for epsilon in (1.0, 4.0)]
    [1, 1]
    """
    if over is None:
        asked, given = _named(method, data, users, options), None
    else:
        name, given, options = take_data(data, users, options)
        base = {"method": method, "data": name, **options}
        axes = [{"field": field, "values": list(values)} for field, values in over.items()]
        asked = sweep_of({"base": base, "axes": axes, "title": f"{method} on {name}"}, NAME, "over")
    if measure is not None:
        asked = asked.measuring(measure)
    if given is not None and asked.measure.read is None:
        raise InputError(
            f"{asked.measured} is measured on data that has a name: write the graph to an .npz file"
        )
    whole = ready(asked, everything=True) if given is None else ReadySweep(asked, tuple(asked.cells()))
    return run_ready(whole, _runner(jobs, Engine.of(engine), fresh, keep, given), all_apart)


def run_ready(ready: ReadySweep, cells: RunCells, apart: RunApart) -> SweepResult:
    """Run all cells for what the sweep's measure needs.

    Quick results are not kept, and have no structure beside them. A result that lacks a part is kept for nobody; its runs are.
    """
    sweep, specs, measure = ready.sweep, [cell.spec for cell in ready.cells], ready.sweep.measure
    if measure.read is None:
        readings, interrupted = apart([(measure, spec) for spec in specs])
        result = SweepResult.of_readings(sweep, ready.cells, readings, interrupted)
    else:
        unread = tuple(part for part in PARTS if part not in measure.parts)
        skip: tuple[Part, ...] = (*unread, "structure") if ready.quick else unread
        done = cells(specs, skip, not skip, [measure.alone] * len(specs))
        result = SweepResult.of(sweep, ready.cells, done)
    if result.readings and not any(reading.parts for reading in result.readings.values()):
        raise InputError(
            f"no experiment of {sweep.name} has the measure {sweep.measured}: choose another one"
        )
    return result


def _named(name: str, data: Any, users: Users | None, options: dict[str, Any]) -> Sweep:
    """A sweep that comes along, or from a file, with other fields in its base."""
    if users is not None or not (data is None or isinstance(data, str)):
        raise InputError(
            f"{name} names its graphs itself: give over={{FIELD: [VALUES]}} to sweep a method over a graph of yours"
        )
    asked = find_sweep(str(name))
    return asked.over(experiment_fields(options, "the options")).on([data] if data else asked.graphs)


def _runner(jobs: int | None, engine: Engine, fresh: bool, keep: bool, given: Given | None) -> RunCells:
    """What runs cells in silence."""

    def run(specs: Sequence[Experiment], skip: tuple[Part, ...], kept: bool, alone: Sequence[bool]) -> Cells:
        def add(result: Result) -> None:
            if kept and keep:
                ResultStore(results_file()).add(result)

        with TemporaryDirectory() as folder:
            # Cells share what they have in common, as structure, wherever that is kept.
            store = UnitStore(results_file() if keep else Path(folder) / RESULTS)
            return run_cells(
                specs,
                store=store,
                jobs=jobs,
                engine=engine,
                fresh=fresh,
                skip=skip,
                alone=alone,
                keep=add,
                given=given,
            )

    return run
