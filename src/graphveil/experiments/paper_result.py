"""Results of a paper: ours beside the printed numbers, its figures, and both on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.figure import Chart
from graphveil.experiments.measures import SCORE
from graphveil.experiments.page import Section, page
from graphveil.experiments.papers import POINT_HEAD, FigureInput, Paper, PaperFigure, compute_figure
from graphveil.experiments.study import NOT_HERE, QUICK_EPOCHS, missing_graph
from graphveil.experiments.study_result import UNFINISHED, CellResult, StudyResult
from graphveil.experiments.table import Table
from graphveil.number_format import NONE, counted

QUICK_FIGURE = "Quick: few values, and one run where it draws at random, to see that it works."


@dataclass(frozen=True)
class FigureResult:
    """A figure that was computed or swept, and the file that it is drawn in; or a note on why there is none."""

    figure: PaperFigure
    computed: Chart | None = None
    study: StudyResult | None = None
    note: str = ""
    file: Path | None = None
    quick: bool = False

    @classmethod
    def compute(cls, figure: PaperFigure, given: FigureInput) -> FigureResult:
        """Compute a figure from its graph; where that cannot be, the result says why."""
        if figure.data and (why := missing_graph(figure.data)):
            return cls(figure, note=why)
        try:
            chart = compute_figure(figure.computed, replace(given, data=figure.data))
        except KeyboardInterrupt:
            return cls(figure, note=UNFINISHED)
        except GraphveilError as error:
            return cls(figure, note=f"not computed: {error}")
        return cls(figure, replace(chart, title=figure.heading), quick=given.quick)

    @property
    def has_numbers(self) -> bool:
        """Whether it has any numbers."""
        return self.computed is not None or (self.study is not None and self.study.has_numbers)

    @property
    def interrupted(self) -> bool:
        """Whether it is not finished."""
        return self.note == UNFINISHED or (self.study is not None and self.study.interrupted)

    @property
    def chart(self) -> Chart | None:
        """The chart to draw, or None."""
        return self.study.chart if self.study is not None and self.has_numbers else self.computed

    @property
    def remarks(self) -> list[str]:
        """Remarks on how it was run and what is missing."""
        if self.study is None:
            return [QUICK_FIGURE] if self.quick else []
        study = self.study.study
        said = [*study.remarks, *(f"Not run: {why}." for why in self.study.failed)]
        if self.study.interrupted:
            todo = sum(not cell.left_out for cell in study.cells)
            said.append(f"Interrupted: {len(self.study.finished)} of {todo} cells are here.")
        return said

    @property
    def missing(self) -> str:
        """The reason why it has no numbers."""
        return self.note or " ".join(self.remarks)

    @property
    def points(self) -> Table | None:
        """The numbers that the document's text has of a sweep, ours beside them."""
        if self.study is None or not self.figure.points:
            return None
        return Table.of(POINT_HEAD, [point.row(self.study) for point in self.figure.points])

    def sections(self, *, by_line: bool = False) -> list[Section]:
        """Return what is said of it with its points, and the numbers of each panel; ``by_line``: lines of a sweep are rows."""
        figure, chart = self.figure, self.chart
        if chart is None:
            return [Section(figure.heading, (self.missing,))]
        text = (*self.remarks, *chart.findings, *([figure.note] if figure.note else []))
        first = Section(figure.heading, text, chart, self.points, level=3)
        if self.study is None:
            panels = [
                Section(f"{each.title}: {each.y_label}", table=each.table("note")) for each in chart.panels
            ]
        else:
            panels = [
                replace(each, table=_by_line(each.table) if by_line else each.table)
                for each in self.study.sections
                if each.table is not None
            ]
        return [first, *(replace(panel, level=4) for panel in panels)]

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


def _by_line(table: Table) -> Table:
    """A row for each line that has numbers, a column for each x: there are more lines than a page is wide."""
    head, *lines = zip(table.head, *table.texts, strict=True)
    return Table.of(head, [line for line in lines if {*line[1:]} - {NONE}])


@dataclass(frozen=True)
class PaperResult:
    """The results of the requested parts of a paper."""

    paper: Paper
    tables: tuple[StudyResult, ...]
    figures: tuple[FigureResult, ...]
    quick: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether anything of it is not finished."""
        tables = any(table.interrupted for table in self.tables)
        return tables or any(figure.interrupted for figure in self.figures)

    @property
    def heading(self) -> Section:
        """The paper, and what of it cannot be run."""
        said = "; ".join(f"{name}: {what}" for name, what in self.paper.others.items())
        return Section(f"{self.paper.title} ({self.paper.source})", (f"Not run: {said}.",) if said else ())

    def to_dict(self) -> dict[str, Any]:
        """Return the paper in the form that `--json` prints."""
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "source": self.paper.source,
            "quick": self.quick,
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "others": dict(self.paper.others),
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
    sections: list[Section] = []
    tables: list[StudyResult] = []
    not_run: list[str] = []
    figures = 0
    for result in results:
        name, below = result.paper.name, []
        for table in result.tables:
            if table.has_numbers:
                tables.append(table)
                below += [_named(f"{name}/{table.study.name}", each) for each in table.sections]
            else:
                why = "; ".join(dict.fromkeys(outcome.note for outcome in table.outcomes))
                not_run.append(f"{name}/{table.study.name}: {why}")
        for figure in result.figures:
            if figure.has_numbers:
                figures += 1
                first, *panels = figure.sections(by_line=True)
                below += [_named(f"{name}/{figure.figure.name}", first), *panels]
            else:
                not_run.append(f"{name}/{figure.figure.name}: {figure.missing}")
        sections += [result.heading, *below] if below or result.heading.text else []
    sections += [Section("Not run", tuple(not_run))] if not_run else []
    said = [INTERRUPTED] if any(result.interrupted for result in results) else []
    said.append(
        f"{counted(len(tables), 'table')} and {counted(figures, 'figure')} of {counted(len(results), 'paper')}."
    )
    headline = comparison_sentence([outcome for table in tables for outcome in table.outcomes])
    if any(result.quick for result in results):
        headline = QUICK_PAGE
    brief = _with_missing_graphs_once(sections, [result.paper for result in results])
    return page(TITLE, headline or said.pop(), brief, FOOTER, about=" ".join(said))


def _named(name: str, section: Section) -> Section:
    return replace(section, title=f"{name}: {section.title}", level=3)


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


def _with_missing_graphs_once(sections: Sequence[Section], papers: Sequence[Paper]) -> list[Section]:
    """The sections, where what to do about a graph that is not here stands once, at their end."""
    studies = [
        study for paper in papers for study in (*paper.tables, *(each.study for each in paper.figures))
    ]
    graphs = [graph for study in studies if study for graph in study.graphs]
    graphs += [figure.data for paper in papers for figure in paper.figures if figure.data]
    missing = {graph: why for graph in graphs if (why := missing_graph(graph))}
    advice: dict[str, None] = {}

    def shorten(text: str) -> str:
        for graph, why in missing.items():
            if why in text:
                advice[f"{why}."] = None
                text = NOT_HERE if text == why else text.replace(why, f"{graph} is {NOT_HERE}")
        return text

    brief = [section.with_words(shorten) for section in sections]
    return [*brief, *([Section(MISSING, tuple(advice))] if advice else [])]
