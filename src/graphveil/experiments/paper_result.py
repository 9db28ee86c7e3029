"""What came of a paper: our results beside the printed numbers, its figures, and both on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.figure import Chart
from graphveil.experiments.measures import Apart, Reading, all_apart
from graphveil.experiments.page import Section, page
from graphveil.experiments.papers import (
    POINT_HEAD,
    SCORE,
    Paper,
    PaperCell,
    PaperFigure,
    PaperTable,
    Terms,
    compute_figure,
)
from graphveil.experiments.result import Result
from graphveil.experiments.study import QUICK_EPOCHS, ReadySweep, briefly, sentences_of
from graphveil.experiments.study_result import SweepResult
from graphveil.experiments.study_runner import Cells
from graphveil.experiments.table import Table
from graphveil.number_format import NONE, counted
from graphveil.statistics import SPREADS

UNFINISHED = "not finished"
PARTS = ("method", "control", "structure")
HEAD = ("theirs", "ours", "control", "structure")
# Where the document prints a spread.
SPREAD_HEAD = ("theirs", "ours likewise", *HEAD[1:])
QUICK = f"Quick: one run of at most {QUICK_EPOCHS} epochs, to see that it works. These numbers compare with nothing."
QUICK_FIGURE = "Quick: few values, and one run where it draws at random, to see that it works."


@dataclass(frozen=True)
class Answer:
    """A printed number with what we measured and, where something was learned, the whole result; or why there is none."""

    cell: PaperCell
    reading: Reading
    result: Result | None
    note: str

    @property
    def spread(self) -> float | None:
        """The spread of our runs in the form that the document prints, where it prints one of scores."""
        if not self.cell.spread or self.cell.measured != SCORE or self.result is None:
            return None
        return SPREADS[self.cell.spread].of(self.result.scores("method"))

    def row(self) -> list[str]:
        """Theirs, ours in the same form where theirs has a spread, ours, control, structure and the note."""
        cell, unit = self.cell, self.cell.measure.unit
        theirs = unit.with_spread(cell.printed, cell.printed_spread)
        ours, spread = self.reading.parts.get("method"), self.spread
        likewise = []
        if cell.spread:
            mean = None if ours is None else unit.factor * ours.mean
            likewise = [unit.with_spread(mean, None if spread is None else unit.factor * spread)]
        parts = (unit.interval(self.reading.parts.get(part)) for part in PARTS)
        return [theirs, *likewise, *parts, self.note]

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form that `--json` prints; what was printed is in the unit, percent are 0..1 in what is ours."""
        cell = self.cell
        about = {
            "row": cell.row,
            "column": cell.column,
            "data": cell.spec.data,
            "epsilon": cell.spec.budgets.epsilon,
        }
        measured = {part: asdict(summary) for part, summary in self.reading.parts.items()}
        return {
            **about,
            "measure": cell.measured,
            "unit": cell.measure.unit.name,
            "printed": cell.printed,
            "printed_spread": cell.printed_spread,
            "spread": self.spread,
            "note": self.note or None,
            "measured": measured or None,
            "ours": None if self.result is None else self.result.to_dict(),
        }


def apart(cells: Sequence[PaperCell], interrupted: bool = False) -> tuple[list[Apart], bool]:
    """Measure the cells that need no learning, one after the other; and whether that was interrupted."""
    return all_apart([(cell.measure, cell.spec) for cell in cells], interrupted)


def answers(
    cells: Sequence[PaperCell], skipped: Sequence[str], done: Cells, measured: Sequence[Apart] = ()
) -> list[Answer]:
    """Each cell with what came of it.

    ``done`` and ``measured`` hold the cells that were not skipped, in their order: those that learn, and those that measure
    apart.
    """
    results, readings = iter(done.results), iter(measured)
    answered = []
    for cell, why in zip(cells, skipped, strict=True):
        if why:
            answered.append(Answer(cell, Reading(), None, why))
            continue
        obtained = next(results if cell.measure.read is not None else readings)
        if isinstance(obtained, GraphveilError):
            answered.append(Answer(cell, Reading(), None, f"not run: {obtained}"))
        elif obtained is None:
            answered.append(Answer(cell, Reading(), None, UNFINISHED))
        elif isinstance(obtained, Reading):
            answered.append(Answer(cell, obtained, None, _noted(cell, obtained)))
        else:
            reading = cell.measure.of(obtained)
            answered.append(Answer(cell, reading, obtained, _noted(cell, reading)))
    return answered


def _noted(cell: PaperCell, reading: Reading) -> str:
    """What is said beside a number: how it was run, where that is not as elsewhere, and what its measure says."""
    return "; ".join(note for note in (cell.remark, reading.note) if note)


@dataclass(frozen=True)
class SweptAnswer:
    """A figure that is a sweep, with how it was run and what it found."""

    ready: ReadySweep
    result: SweepResult

    @property
    def remarks(self) -> list[str]:
        """What is to be said of how it was run, and of what is missing."""
        said = [*self.ready.remarks(), *(f"Not run: {why}." for why in self.result.failed)]
        if self.result.interrupted:
            said.append(f"Interrupted: {len(self.result.results)} of {len(self.ready.cells)} cells are here.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """The sweep in the form that `--json` prints."""
        return {**self.result.to_dict(), **self.ready.to_dict()}


@dataclass(frozen=True)
class FigureAnswer:
    """A figure that was computed or swept, and the file that it is drawn in; or why there is none."""

    figure: PaperFigure
    computed: Chart | None = None
    note: str = ""
    file: Path | None = None
    swept: SweptAnswer | None = None

    @property
    def ran(self) -> bool:
        """Whether there is anything of it."""
        return self.computed is not None or (self.swept is not None and bool(self.swept.result.results))

    @property
    def finished(self) -> bool:
        """Whether all of it is there that can be."""
        return self.ran and not (self.swept is not None and self.swept.result.interrupted)

    @property
    def missing(self) -> str:
        """Why there is nothing of it."""
        return self.note or " ".join(self.swept.remarks if self.swept is not None else [])

    def point_rows(self) -> list[list[str]]:
        """The numbers that the document's text has of a sweep, ours beside them."""
        if self.swept is None:
            return []
        return [point.row(self.swept.result) for point in self.figure.points]

    def to_dict(self) -> dict[str, Any]:
        """The figure in the form that `--json` prints."""
        figure = self.figure
        more = {} if self.computed is None else self.computed.to_dict()
        if self.swept is not None:
            more = {"swept": self.swept.to_dict(), "points": self.point_rows()}
        return {
            "name": figure.name,
            "title": figure.title,
            "note": figure.note,
            "computed": figure.computed or None,
            "sweep": figure.sweep or None,
            "data": figure.data or None,
            "left_out": None if self.ran else self.missing,
            "file": None if self.file is None else str(self.file),
            **more,
        }


def figure_answer(figure: PaperFigure, terms: Terms) -> FigureAnswer:
    """Compute a figure from its graph; where that cannot be, the answer says why."""
    if why := figure.skipped():
        return FigureAnswer(figure, note=why)
    try:
        chart = compute_figure(figure.computed, replace(terms, data=figure.data))
    except GraphveilError as error:
        return FigureAnswer(figure, note=f"not computed: {error}")
    return FigureAnswer(figure, replace(chart, title=figure.heading))


@dataclass(frozen=True)
class TableAnswer:
    """A table with what came of each of its cells."""

    table: PaperTable
    answers: tuple[Answer, ...]

    @property
    def ran(self) -> bool:
        """Whether anything of it was measured."""
        return any(answer.reading.parts for answer in self.answers)

    @property
    def head(self) -> tuple[str, ...]:
        """What stands above `Answer.row`, but for the note."""
        return SPREAD_HEAD if self.table.spread else HEAD

    @property
    def forms(self) -> str:
        """What stands around the numbers, theirs and ours."""
        ours = "[…] are 95% t-intervals of our means."
        if not self.table.spread:
            return f"The document's numbers have no interval here; {ours}"
        return f"±: {SPREADS[self.table.spread].words}, theirs and ours; {ours}"

    def to_dict(self) -> dict[str, Any]:
        """The table in the form that `--json` prints."""
        return {
            "name": self.table.name,
            "title": self.table.title,
            "note": self.table.note,
            "spread": self.table.spread or None,
            "cells": [answer.to_dict() for answer in self.answers],
        }


@dataclass(frozen=True)
class PaperAnswer:
    """What came of a paper, or of the parts of it that were asked for."""

    paper: Paper
    tables: tuple[TableAnswer, ...]
    figures: tuple[FigureAnswer, ...]
    quick: bool = False
    interrupted: bool = False
    # Whether all of the paper was asked for.
    whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The paper in the form that `--json` prints."""
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "source": self.paper.source,
            "quick": self.quick,
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "others": dict(self.paper.others) if self.whole else {},
            "interrupted": self.interrupted,
        }


TITLE = "graphveil: printed tables and figures, run again"
QUICK_PAGE = (
    f"Quick: at most {QUICK_EPOCHS} epochs, as few runs as can be, and figures at few values, to see that it works. "
    "None of these numbers compares with anything, and none is stored as a result."
)
MISSING = "Graphs that are not here"
INTERRUPTED = "Interrupted: what is missing was not finished."
FOOTER = (
    "Scores are in percent on test users unless a unit or a note says otherwise. The control is the same method with blinded "
    "reports; structure asks nobody for features."
)
ROW, COLUMN, NOTE = "row", "column", "note"
# Half of the last digit of a score in percent.
ROUNDING = 0.05


def papers_page(answers: Sequence[PaperAnswer]) -> str:
    """The page; parts of which nothing ran are named at its end, with the reason."""
    tables = [table for answer in answers for table in answer.tables if table.ran]
    figures = [figure for answer in answers for figure in answer.figures if figure.ran]
    quick = any(answer.quick for answer in answers)
    said = [INTERRUPTED] if any(answer.interrupted for answer in answers) else []
    said.append(
        f"{counted(len(tables), 'table')} and {counted(len(figures), 'figure')} of {counted(len(answers), 'paper')}."
    )
    sections = [section for answer in answers for section in _paper(answer)]
    headline = (
        QUICK_PAGE
        if quick
        else compared([answer for table in tables for answer in table.answers]) or said.pop()
    )
    sections = _said_once([*sections, *_not_run(answers)])
    return page(TITLE, headline, sections, FOOTER, about=" ".join(said))


def compared(answers: Sequence[Answer]) -> str:
    """How many printed scores are within our intervals, in one sentence; nothing where none can be compared."""
    within = []
    for answer in answers:
        cell, ours = answer.cell, answer.reading.parts.get("method")
        if cell.measured != SCORE or cell.printed is None or ours is None:
            continue
        if ours.low is not None and ours.high is not None:
            within.append(100 * ours.low - ROUNDING <= cell.printed <= 100 * ours.high + ROUNDING)
    if not within:
        return ""
    return (
        f"{sum(within)} of {counted(len(within), 'printed score')} lie within the 95% intervals of our means."
    )


def _said_once(sections: Sequence[Section]) -> list[Section]:
    """The sections, where what to do about a graph that is not here stands once, at their end."""
    texts = [text for section in sections for text in (*section.text, *section.cells)]
    said = tuple(dict.fromkeys(f"{sentence}." for text in texts for sentence in sentences_of(text)))
    brief = [section.with_words(briefly) for section in sections]
    return [*brief, *([Section(MISSING, said)] if said else [])]


def _paper(answer: PaperAnswer) -> list[Section]:
    below = [_table(answer.paper.name, table) for table in answer.tables if table.ran]
    for figure in answer.figures:
        below += _figure(answer.paper.name, figure)
    others = (not_runnable(answer),) if answer.whole and answer.paper.others else ()
    return (
        [Section(f"{answer.paper.title} ({answer.paper.source})", others), *below] if below or others else []
    )


def not_runnable(answer: PaperAnswer) -> str:
    """What of a paper cannot be run, being no experiment or not at hand, in a sentence."""
    said = "; ".join(f"{name}: {what}" for name, what in answer.paper.others.items())
    return f"Not run: {said}."


def _table(paper: str, answer: TableAnswer) -> Section:
    rows = tuple((each.cell.row, each.cell.column, *each.row()) for each in answer.answers)
    table = Table((ROW, COLUMN, *answer.head, NOTE), rows, frozenset(answer.head))
    text = tuple(sentence for sentence in (answer.forms, answer.table.note) if sentence)
    return Section(f"{paper}/{answer.table.name}: {answer.table.title}", text, table=table, level=3)


def _figure(paper: str, answer: FigureAnswer) -> list[Section]:
    """The picture, and the numbers of each panel as a table."""
    note = [answer.figure.note] if answer.figure.note else []
    title = f"{paper}/{answer.figure.name}: {answer.figure.heading}"
    if answer.swept is not None and answer.ran:
        return _swept(title, note, answer, answer.swept)
    if answer.computed is None:
        return []
    chart = answer.computed
    panels = (
        Section(f"{panel.title}: {panel.y_label}", table=panel.table(NOTE), level=4) for panel in chart.panels
    )
    return [Section(title, (*chart.findings, *note), chart.svg(headed=False), level=3), *panels]


def _swept(title: str, note: list[str], answer: FigureAnswer, swept: SweptAnswer) -> list[Section]:
    """A sweep: what the text says of it, and a table for each panel, in the document's form too where it draws a spread."""
    points = answer.point_rows()
    said = Table.of(POINT_HEAD, points) if points else None
    first = Section(title, (*swept.remarks, *note), swept.result.chart.svg(), said, level=3)
    return [
        first,
        *(section for panel in swept.result.panels for section in _panel(panel, swept.ready.quick)),
    ]


def _panel(panel: SweepResult, quick: bool) -> list[Section]:
    name = f"{panel.sweep.title}: {panel.metric}"
    sections = [Section(name, table=_over_x(panel.head(), panel.rows()), level=4)]
    if panel.sweep.spread and not quick:
        lines = [panel.sweep.axes[0].label, *panel.sweep.lines]
        words = f"±: {SPREADS[panel.sweep.spread].words}"
        sections.append(Section(words, table=_over_x(lines, panel.spread_rows()), level=5))
    return sections


def _over_x(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A row for each line that has numbers, a column for each x: there are more lines than a page is wide."""
    values = tuple(row[0] for row in rows)
    lines = ((name, *(row[place] for row in rows)) for place, name in enumerate(head) if place)
    filled = tuple(line for line in lines if any(cell != NONE for cell in line[1:]))
    return Table((head[0], *values), filled, frozenset(values))


def _not_run(answers: Sequence[PaperAnswer]) -> list[Section]:
    """What was asked for and did not run, each with the reasons."""
    said = []
    for answer in answers:
        for table in answer.tables:
            if not table.ran:
                why = "; ".join(dict.fromkeys(each.note for each in table.answers))
                said.append(f"{answer.paper.name}/{table.table.name}: {why}")
        said += [
            f"{answer.paper.name}/{figure.figure.name}: {figure.missing}"
            for figure in answer.figures
            if not figure.ran
        ]
    return [Section("Not run", tuple(said))] if said else []
