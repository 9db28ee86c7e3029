"""Results of a study: what came of each cell, as tables, as a chart and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.figure import FREE, Chart, ChartPanel, Role, Series
from graphveil.experiments.measures import SCORE, Reading
from graphveil.experiments.page import Section
from graphveil.experiments.result import Result
from graphveil.experiments.study import PRINTED, QUICK_EPOCHS, SWEEP, Cell, Study
from graphveil.experiments.table import CellValue, Column, Table
from graphveil.number_format import PERCENT, budget, gained, value_text
from graphveil.plugins import Registry
from graphveil.statistics import SPREADS, Summary

UNFINISHED = "not finished"
# Parts that several lines may share, and what they are called.
BESIDE: dict[Role, str] = {
    "structure": "structure",
    "edgeless": "no private links",
    "unasked": "volunteers alone",
}
# So many panels stand side by side, with one scale; more of them are about different graphs.
MOST_BESIDE = 3
# A number at each place on x; None where there is none.
Curve = tuple[Summary | None, ...]


# A result, what a measure that learns nothing has read, why there is neither, or nothing where it was interrupted before.
CellOutput = Result | Reading | GraphveilError | None


@dataclass(frozen=True)
class CellResult:
    """The outcome of a cell: a reading, with the full result if something was learned, or the error.

    ``partial`` has the finished runs of an interrupted experiment.
    """

    cell: Cell
    result: Result | None = None
    reading: Reading | None = None
    error: GraphveilError | None = None
    partial: Result | None = None

    @classmethod
    def of(cls, cell: Cell, obtained: CellOutput) -> CellResult:
        """Return the outcome of what was obtained."""
        if isinstance(obtained, GraphveilError):
            return cls(cell, error=obtained)
        if not isinstance(obtained, Result):
            return cls(cell, reading=obtained)
        if obtained.interrupted:
            return cls(cell, partial=obtained)
        return cls(cell, obtained, cell.measure.of(obtained))

    @property
    def parts(self) -> dict[str, Summary]:
        """The measurements of each part."""
        return {} if self.reading is None else dict(self.reading.parts)

    @property
    def note(self) -> str:
        """The note beside the number, or in its place."""
        if self.cell.left_out or self.error is not None:
            return self.cell.left_out or f"not run: {self.error}"
        if self.reading is None:
            return UNFINISHED
        return "; ".join(note for note in (self.cell.remark, self.reading.note) if note)

    def spread(self, form: str) -> float | None:
        """Return the spread of our scores in the form that a document prints, where it prints one."""
        if not form or self.result is None or self.cell.measure.name != SCORE:
            return None
        return SPREADS[form].of(self.result.scores("method"))

    def with_spread(self, form: str) -> str:
        """Return our mean with what a document prints around its own."""
        unit, ours, spread = self.cell.measure.unit, self.parts.get("method"), self.spread(form)
        mean = None if ours is None else unit.factor * ours.mean
        return unit.with_spread(mean, None if spread is None else unit.factor * spread)


@dataclass(frozen=True)
class StudyResult:
    """A study with what came of each of its cells, in their order."""

    study: Study
    outcomes: tuple[CellResult, ...]
    interrupted: bool = False

    @classmethod
    def of(cls, study: Study, obtained: Sequence[CellOutput], interrupted: bool = False) -> StudyResult:
        """Return the result of a study.

        Parameters
        ----------
        study
            The study.
        obtained
            The output of each cell, in the order of the cells.
        interrupted
            Whether an interrupt ended it.
        """
        outcomes = (CellResult.of(cell, each) for cell, each in zip(study.cells, obtained, strict=True))
        return cls(study, tuple(outcomes), interrupted)

    @classmethod
    def unfinished(cls, study: Study) -> StudyResult:
        """Return the result of a study that was interrupted before its first cell."""
        return cls.of(study, [None] * len(study.cells), interrupted=True)

    @cached_property
    def finished(self) -> dict[tuple[int, ...], CellResult]:
        """The cells that are measured, by their places on the axes."""
        return {outcome.cell.place: outcome for outcome in self.outcomes if outcome.reading is not None}

    @property
    def has_numbers(self) -> bool:
        """Whether there is any number."""
        return any(outcome.parts for outcome in self.outcomes)

    @property
    def failed(self) -> list[str]:
        """The errors of cells that could not be run."""
        failed = [outcome for outcome in self.outcomes if outcome.error is not None]
        return [f"{', '.join(outcome.cell.labels)}: {outcome.error}" for outcome in failed]

    def at(self, *values: Any) -> Result | None:
        """Return the result at some values of the axes, in their order, where it is there."""
        for place, outcome in self.finished.items():
            there = [axis.values[at] for axis, at in zip(self.study.axes, place, strict=True)]
            if there == list(values):
                return outcome.result
        return None

    @property
    def metric(self) -> str:
        """The name of what is measured; for scores, their metrics."""
        results = (outcome.result for outcome in self.finished.values())
        metrics = sorted({result.metric for result in results if result is not None})
        return self.study.measure.called(", ".join(metrics))

    @property
    def panels(self) -> list[StudyResult]:
        """A result of two axes for each value of the third; itself where there is none."""
        if len(self.study.axes) < 3:
            return [self]
        *axes, third = self.study.axes
        panels = []
        for number, value in enumerate(third.values):
            outcomes = tuple(
                replace(each, cell=replace(each.cell, place=each.cell.place[:2]))
                for each in self.outcomes
                if each.cell.place[2] == number
            )
            title, cells = f"{self.study.title}; {third.name(value)}", tuple(each.cell for each in outcomes)
            study = replace(self.study, title=title, axes=tuple(axes), cells=cells)
            panels.append(replace(self, study=study, outcomes=outcomes))
        return panels

    @property
    def sections(self) -> list[Section]:
        """Tables with their titles and what is to be said beside them, as a screen shows them."""
        return KINDS.find(self.study.kind).sections(self)

    @property
    def tables(self) -> list[Table]:
        """The tables alone."""
        return [section.table for section in self.sections if section.table is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the study in the form that `--json` prints."""
        return KINDS.find(self.study.kind).to_dict(self)

    def along(self, line: int) -> list[CellResult | None]:
        """Return the finished cell at each place on x along a line; None where there is none."""
        axes = self.study.axes
        return [self.finished.get((x, line)[: len(axes)]) for x in range(len(axes[0].values))]

    def curve(self, line: int, part: str) -> Curve:
        """Return the numbers of one part along a line."""
        return tuple(None if each is None else each.parts.get(part) for each in self.along(line))

    @cached_property
    def series(self) -> list[Series]:
        """Each line with its control, and what lines share, each once; notes are what their columns are called."""
        study, found = self.study, list[Series]()

        def add(label: str, column: str, curve: Curve, role: Role, mark_of: str = "") -> None:
            found.append(Series(label, tuple(map(float, range(len(curve)))), curve, column, role, mark_of))

        for line, name in enumerate(study.lines):
            add(name, name, self.curve(line, "method"), "method")
            add("its control (ε = 0)", "control", self.curve(line, "control"), "control")
        for role, title in BESIDE.items():
            shared: dict[Curve, list[str]] = {}
            for line, name in enumerate(study.lines):
                if any(curve := self.curve(line, role)):
                    shared.setdefault(curve, []).append(name)
            for curve, names in shared.items():
                # Where each belongs to lines of its own, it has the mark of the first.
                several = len(shared) > 1
                column = f"{title} ({'; '.join(names)})" if several else title
                add(title, column, curve, role, names[0] if several else "")
        return found

    @property
    def chart(self) -> Chart:
        """The figure: a panel for each value of the third axis."""
        study, panels = self.study, self.panels
        titles = [panel.study.title for panel in panels]
        if len(panels) > 1:
            titles = [study.axes[2].name(value) for value in study.axes[2].values]
        y_label = study.measure.unit.axis(self.metric)
        x = study.axes[0]
        ticks = tuple(value_text(value) for value in x.values)
        # Values of x stand at equal distances, in their order.
        drawn = tuple(
            ChartPanel(title, x.label, y_label, tuple(panel.series), "", ticks, study.measure.unit, FREE)
            for panel, title in zip(panels, titles, strict=True)
        )
        return Chart(drawn, columns=MOST_BESIDE, title=study.title if len(panels) > 1 else "")

    def table(self, columns: Sequence[tuple[Column, Sequence[CellValue]]]) -> Table:
        """Return a row for each value of x, with columns beside it that have a cell for each."""
        x = self.study.axes[0]
        cells = zip(*(each for _, each in columns), strict=True)
        rows = ((value_text(value), *row) for value, row in zip(x.values, cells, strict=True))
        return Table((x.label, *(column for column, _ in columns)), rows)

    def by_line(self, cell: Callable[[CellResult], CellValue]) -> Table:
        """Return a row for each value of x and a column for each line, with something of each finished cell."""
        columns = []
        for line, name in enumerate(self.study.lines):
            cells = [None if outcome is None else cell(outcome) for outcome in self.along(line)]
            columns.append((Column(name, "number"), cells))
        return self.table(columns)


@dataclass(frozen=True)
class StudyKind:
    """The presentation of a kind of study: sections with tables for screens and pages, and a JSON object."""

    sections: Callable[[StudyResult], list[Section]]
    to_dict: Callable[[StudyResult], dict[str, Any]]


def _sweep_sections(result: StudyResult) -> list[Section]:
    return [section for panel in result.panels for section in _panel_sections(panel)]


def _panel_sections(panel: StudyResult) -> list[Section]:
    """A table of means; in the document's form too where it draws a spread of runs; and what else was measured."""
    study = panel.study
    title = f"{study.title}: {panel.metric}" if panel.finished else study.title
    sections = [Section(title, table=panel.table(_sweep_columns(panel)), notes=_notes(panel))]
    if study.spread and not study.quick:
        words = f"±: {SPREADS[study.spread].words}, as the document draws it"
        sections.append(Section(words, table=panel.by_line(lambda cell: cell.with_spread(study.spread))))
    for name in study.also:
        table = panel.by_line(partial(_also, name=name))
        sections.append(Section(f"{name.replace('_', ' ')} (%)", table=table))
    return sections


def _sweep_columns(panel: StudyResult) -> list[tuple[Column, Sequence[CellValue]]]:
    """Each line with its control, and what lines share, at each x."""
    controlled = any(any(each.y) for each in panel.series if each.role == "control")
    shown = [
        series for series in panel.series if series.role != "control" or controlled or not panel.finished
    ]
    return [(Column(each.note, "summary", panel.study.measure.unit), each.y) for each in shown]


def _notes(panel: StudyResult) -> tuple[str, ...]:
    """Return the notes on the numbers, each once, after the names of its cells if there are several notes."""
    about: dict[str, list[str]] = {}
    for _, outcome in sorted(panel.finished.items()):
        assert outcome.reading is not None
        labels = outcome.cell.labels[: len(panel.study.axes)]
        about.setdefault(outcome.reading.note, []).append(", ".join(labels))
    whole = len(about) == 1
    return tuple(note if whole else f"{'; '.join(cells)}: {note}" for note, cells in about.items() if note)


def _also(outcome: CellResult, name: str) -> str | None:
    """The mean, in percent, of what was measured besides the score."""
    units = () if outcome.result is None else outcome.result.of("method")
    found = [unit.also[name] for unit in units if name in unit.also]
    return PERCENT.number(100 * sum(found) / len(found)) if found else None


def _sweep_dict(result: StudyResult) -> dict[str, Any]:
    study = result.study
    return {
        **_budgets_dict(result),
        "quick": study.quick,
        "left_out": list(study.missing),
        "shortened": study.shortened,
        "slow": study.slow,
    }


def _budgets_dict(result: StudyResult) -> dict[str, Any]:
    axes, cells = result.study.axes, []
    for place, outcome in result.finished.items():
        assert outcome.reading is not None
        at = {axis.field or axis.label: axis.values[each] for axis, each in zip(axes, place, strict=True)}
        whole = {} if outcome.result is None else outcome.result.to_dict()
        measured = {part: asdict(summary) for part, summary in outcome.parts.items()}
        cells.append({"at": at, "measured": measured, "note": outcome.reading.note or None, **whole})
    return {
        "name": result.study.name,
        "title": result.study.title,
        "measure": result.study.measure.name,
        "unit": result.study.measure.unit.name,
        "axes": [{"field": axis.field, "label": axis.label, "values": list(axis.values)} for axis in axes],
        "cells": cells,
        "failed": result.failed,
        "interrupted": result.interrupted,
    }


def _budgets_sections(result: StudyResult) -> list[Section]:
    """A row for each budget with what it gains, the verdicts, and what the last budget costs."""
    found = [outcome.result for _, outcome in sorted(result.finished.items()) if outcome.result is not None]
    if not found:
        return []
    columns = _sweep_columns(result)
    for title, gain in (("gain over the control", "gain"), ("gain over structure", "gain_over_structure")):
        gains = [None if each is None else getattr(each.result, gain) for each in result.along(0)]
        if any(gains):
            columns.append((Column(title, "number"), list(map(gained, gains))))
    said = [each.verdict for each in found if each.verdict]
    if (privacy := found[-1].privacy) is not None:
        at = budget(found[-1].epsilon)
        said.append(f"Each budget is asked for in runs of its own. At {at}: {privacy.sentence}")
    title = f"{result.study.title}: {result.metric}, with 95% intervals"
    return [Section(title, table=result.table(columns), notes=tuple(said))]


QUICK_TABLE = f"Quick: one run of at most {QUICK_EPOCHS} epochs, to see that it works. These numbers compare with nothing."
PRINTED_PARTS = ("method", "control", "structure")


def printed_row(study: Study, outcome: CellResult) -> tuple[str, ...]:
    """Return row and column, theirs, ours in the same form where theirs has a spread, ours, control, structure and the note."""
    cell, unit = outcome.cell, outcome.cell.measure.unit
    likewise = (outcome.with_spread(study.spread),) if study.spread else ()
    parts = (unit.interval(outcome.parts.get(part)) for part in PRINTED_PARTS)
    return *cell.labels, unit.with_spread(cell.printed, cell.printed_spread), *likewise, *parts, outcome.note


def _printed_sections(result: StudyResult) -> list[Section]:
    """A line for each printed number, and what stands around the numbers."""
    study = result.study
    numbers = ("theirs", *(("ours likewise",) if study.spread else ()), "ours", *PRINTED_PARTS[1:])
    rows = (printed_row(study, outcome) for outcome in result.outcomes)
    ours = "[…] are 95% t-intervals of our means."
    around = f"The document's numbers have no interval here; {ours}"
    if study.spread:
        around = f"±: {SPREADS[study.spread].words}, theirs and ours; {ours}"
    notes = (*([QUICK_TABLE] if study.quick else []), around, *([study.note] if study.note else []))
    return [
        Section(study.title, table=Table(("row", "column", *numbers, "note"), rows, numbers), notes=notes)
    ]


def _printed_dict(result: StudyResult) -> dict[str, Any]:
    study = result.study
    return {
        "name": study.name,
        "title": study.title,
        "note": study.note,
        "spread": study.spread or None,
        "cells": [_printed_cell(study, outcome) for outcome in result.outcomes],
    }


def _printed_cell(study: Study, outcome: CellResult) -> dict[str, Any]:
    """Return a cell as JSON. Printed numbers are in the unit; of ours, percentages are 0..1."""
    cell, (row, column) = outcome.cell, outcome.cell.labels
    return {
        "row": row,
        "column": column,
        "data": cell.experiment.data,
        "epsilon": cell.experiment.budgets.epsilon,
        "measure": cell.measure.name,
        "unit": cell.measure.unit.name,
        "printed": cell.printed,
        "printed_spread": cell.printed_spread,
        "spread": outcome.spread(study.spread),
        "note": outcome.note or None,
        "measured": {part: asdict(summary) for part, summary in outcome.parts.items()} or None,
        "ours": None if outcome.result is None else outcome.result.to_dict(),
    }


BUDGETS = "budgets"
# A kind of one's own is added by a file that reads or makes such studies.
KINDS = Registry[StudyKind](
    "kind of study",
    {
        SWEEP: StudyKind(_sweep_sections, _sweep_dict),
        BUDGETS: StudyKind(_budgets_sections, _budgets_dict),
        PRINTED: StudyKind(_printed_sections, _printed_dict),
    },
)
