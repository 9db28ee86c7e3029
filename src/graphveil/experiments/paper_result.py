"""Results of a paper: ours beside the printed numbers, its figures, and both on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.computed_figures import FigureInput, compute_figure
from graphveil.experiments.figure import Chart
from graphveil.experiments.measures import SCORE
from graphveil.experiments.page import Section, page
from graphveil.experiments.papers import POINT_HEAD, PaperFigure, PaperSelection
from graphveil.experiments.study import (
    QUICK_EPOCHS,
    missing_graph,
    shorten_missing_graphs,
)
from graphveil.experiments.study_result import UNFINISHED, CellResult, StudyResult, printed_head, printed_row
from graphveil.experiments.table import Table
from graphveil.number_format import NONE, counted


@dataclass(frozen=True)
class FigureResult:
    """A figure that was computed or swept, and the file that it is drawn in; or a note on why there is none."""

    figure: PaperFigure
    computed: Chart | None = None
    study: StudyResult | None = None
    note: str = ""
    file: Path | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether there is anything of it."""
        return self.computed is not None or (self.study is not None and self.study.has_numbers)

    @property
    def interrupted(self) -> bool:
        """Whether it is not finished."""
        return self.note == UNFINISHED or (self.study is not None and self.study.interrupted)

    @property
    def chart(self) -> Chart | None:
        """What is drawn."""
        if not self.has_numbers:
            return None
        return self.computed if self.study is None else self.study.chart

    @property
    def remarks(self) -> list[str]:
        """What is to be said of how a sweep was run, and of what is missing."""
        if self.study is None:
            return []
        study = self.study.study
        said = [*study.remarks, *(f"Not run: {why}." for why in self.study.failed)]
        if self.study.interrupted:
            todo = sum(not cell.left_out for cell in study.cells)
            said.append(f"Interrupted: {len(self.study.finished)} of {todo} cells are here.")
        return said

    @property
    def missing(self) -> str:
        """Why there is nothing of it."""
        return self.note or " ".join(self.remarks)

    @property
    def points(self) -> Table | None:
        """The numbers that the document's text has of a sweep, ours beside them."""
        if self.study is None or not self.figure.points:
            return None
        return Table.of(POINT_HEAD, [point.row(self.study) for point in self.figure.points])

    def to_dict(self) -> dict[str, Any]:
        """Return the figure in the form that `--json` prints."""
        figure, points = self.figure, self.points
        more = {} if self.computed is None else self.computed.to_dict()
        if self.study is not None:
            more = {"swept": self.study.to_dict(), "points": [] if points is None else points.texts}
        return {
            "name": figure.name,
            "title": figure.title,
            "note": figure.note,
            "computed": figure.computed or None,
            "sweep": figure.sweep or None,
            "data": figure.data or None,
            "left_out": None if self.has_numbers else self.missing,
            "file": None if self.file is None else str(self.file),
            **more,
        }


def compute_paper_figure(figure: PaperFigure, given: FigureInput) -> FigureResult:
    """Compute a figure from its graph; where that cannot be, the result says why."""
    if figure.data and (why := missing_graph(figure.data)):
        return FigureResult(figure, note=why)
    try:
        chart = compute_figure(figure.computed, replace(given, data=figure.data))
    except KeyboardInterrupt:
        return FigureResult(figure, note=UNFINISHED)
    except GraphveilError as error:
        return FigureResult(figure, note=f"not computed: {error}")
    return FigureResult(figure, replace(chart, title=figure.heading))


@dataclass(frozen=True)
class PaperResult:
    """What came of those parts of a paper that were asked for."""

    selection: PaperSelection
    tables: tuple[StudyResult, ...]
    figures: tuple[FigureResult, ...]
    quick: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether anything of it is not finished."""
        tables = any(table.interrupted for table in self.tables)
        return tables or any(figure.interrupted for figure in self.figures)

    @property
    def others(self) -> dict[str, str]:
        """What of the paper cannot be run, and why, where all of it was asked for."""
        return dict(self.selection.paper.others) if self.selection.whole else {}

    @property
    def not_run(self) -> str:
        """The same in a sentence."""
        said = "; ".join(f"{name}: {what}" for name, what in self.others.items())
        return f"Not run: {said}." if said else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the paper in the form that `--json` prints."""
        paper = self.selection.paper
        return {
            "paper": paper.name,
            "title": paper.title,
            "source": paper.source,
            "quick": self.quick,
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "others": self.others,
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
# Half of the last digit of a score in percent.
ROUNDING = 0.05


def papers_page(results: Sequence[PaperResult]) -> str:
    """Return the page; parts of which nothing ran are named at its end, with the reason."""
    tables = [table for result in results for table in result.tables if table.has_numbers]
    figures = [figure for result in results for figure in result.figures if figure.has_numbers]
    said = [INTERRUPTED] if any(result.interrupted for result in results) else []
    said.append(
        f"{counted(len(tables), 'table')} and {counted(len(figures), 'figure')} of {counted(len(results), 'paper')}."
    )
    headline = comparison_sentence([outcome for table in tables for outcome in table.outcomes])
    if any(result.quick for result in results):
        headline = QUICK_PAGE
    sections = [section for result in results for section in _paper_sections(result)]
    sections = _with_missing_graphs_once([*sections, *_not_run_sections(results)])
    return page(TITLE, headline or said.pop(), sections, FOOTER, about=" ".join(said))


def comparison_sentence(outcomes: Sequence[CellResult]) -> str:
    """Return how many printed scores are within our intervals, in one sentence; nothing where none can be compared."""
    within = []
    for outcome in outcomes:
        printed, ours = outcome.cell.printed, outcome.parts.get("method")
        if outcome.cell.measure.name != SCORE or printed is None or ours is None:
            continue
        if ours.low is not None and ours.high is not None:
            within.append(100 * ours.low - ROUNDING <= printed <= 100 * ours.high + ROUNDING)
    if not within:
        return ""
    return (
        f"{sum(within)} of {counted(len(within), 'printed score')} lie within the 95% intervals of our means."
    )


def _with_missing_graphs_once(sections: Sequence[Section]) -> list[Section]:
    """The sections, where what to do about a graph that is not here stands once, at their end."""
    advice: dict[str, None] = {}

    def shorten(text: str) -> str:
        shortened, sentences = shorten_missing_graphs(text)
        advice.update(dict.fromkeys(f"{sentence}." for sentence in sentences))
        return shortened

    brief = [section.with_words(shorten) for section in sections]
    return [*brief, *([Section(MISSING, tuple(advice))] if advice else [])]


def _paper_sections(result: PaperResult) -> list[Section]:
    paper = result.selection.paper
    below = [_table_section(paper.name, table) for table in result.tables if table.has_numbers]
    for figure in result.figures:
        below += _figure_sections(paper.name, figure) if figure.has_numbers else []
    others = (result.not_run,) if result.not_run else ()
    return [Section(f"{paper.title} ({paper.source})", others), *below] if below or others else []


def _table_section(paper: str, result: StudyResult) -> Section:
    """A row for each printed number, which can be sorted by any column."""
    (section,), numbers = result.sections, printed_head(result.study)
    rows = [printed_row(result.study, outcome) for outcome in result.outcomes]
    table = Table(("row", "column", *numbers, "note"), rows, numbers)
    title = f"{paper}/{result.study.name}: {result.study.title}"
    return Section(title, section.notes, table=table, level=3)


def _figure_sections(paper: str, result: FigureResult) -> list[Section]:
    """The picture, what the text says of it, and the numbers of each panel as a table."""
    figure, chart = result.figure, result.chart
    assert chart is not None
    note = (figure.note,) if figure.note else ()
    text = (*result.remarks, *chart.findings, *note)
    title = f"{paper}/{figure.name}: {figure.heading}"
    first = Section(title, text, chart.svg(headed=result.study is not None), result.points, level=3)
    if result.study is None:
        panels = (
            Section(f"{panel.title}: {panel.y_label}", table=panel.table("note"), level=4)
            for panel in chart.panels
        )
        return [first, *panels]
    tables = (
        replace(section, table=_by_line(section.table), level=4)
        for section in result.study.sections
        if section.table is not None
    )
    return [first, *tables]


def _by_line(table: Table) -> Table:
    """A row for each line that has numbers, a column for each x: there are more lines than a page is wide."""
    names, *columns = zip(*table.texts, strict=True)
    lines = zip(table.head[1:], columns, strict=True)
    filled = [(line, *cells) for line, cells in lines if any(cell != NONE for cell in cells)]
    return Table.of((table.head[0], *names), filled)


def _not_run_sections(results: Sequence[PaperResult]) -> list[Section]:
    """What was asked for and did not run, each with the reasons."""
    said = []
    for result in results:
        name = result.selection.paper.name
        for table in result.tables:
            if not table.has_numbers:
                why = "; ".join(dict.fromkeys(outcome.note for outcome in table.outcomes))
                said.append(f"{name}/{table.study.name}: {why}")
        said += [
            f"{name}/{figure.figure.name}: {figure.missing}"
            for figure in result.figures
            if not figure.has_numbers
        ]
    return [Section("Not run", tuple(said))] if said else []
