"""Papers on one page: all tables and figures that ran, and at the top whether they compare with anything."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.experiments.papers.figures.draw import computed_svg
from graphveil.experiments.papers.paper import QUICK_EPOCHS
from graphveil.experiments.papers.result import FigureAnswer, PaperAnswer, TableAnswer
from graphveil.experiments.runs.format import counted
from graphveil.experiments.show.page import Section, Table, page

TITLE = "graphveil: printed tables and figures, run again"
QUICK = (
    f"Quick: at most {QUICK_EPOCHS} epochs, as few runs as can be, and figures at few values, to see that it works. "
    "None of these numbers compares with anything, and none is kept."
)
INTERRUPTED = "Interrupted: what is missing was not finished."
FOOTER = (
    "Scores are in percent on test users unless a unit or a note says otherwise. The control is the same method with blinded "
    "reports; structure asks nobody for features."
)
ROW, COLUMN, NOTE = "row", "column", "note"


def papers_page(answers: Sequence[PaperAnswer]) -> str:
    """The page; parts of which nothing ran are named at its end, with the reason."""
    tables = [table for answer in answers for table in answer.tables if table.ran]
    figures = [figure for answer in answers for figure in answer.figures if figure.computed]
    said = [QUICK] if any(answer.quick for answer in answers) else []
    said += [INTERRUPTED] if any(answer.interrupted for answer in answers) else []
    said.append(
        f"{counted(len(tables), 'table')} and {counted(len(figures), 'figure')} of {counted(len(answers), 'paper')}."
    )
    sections = [section for answer in answers for section in _paper(answer)]
    return page(TITLE, " ".join(said), [*sections, *_not_run(answers)], FOOTER)


def _paper(answer: PaperAnswer) -> list[Section]:
    below = [_table(answer.paper.name, table) for table in answer.tables if table.ran]
    for figure in answer.figures:
        below += _figure(answer.paper.name, figure)
    return [Section(f"{answer.paper.title} ({answer.paper.source})"), *below] if below else []


def _table(paper: str, answer: TableAnswer) -> Section:
    rows = tuple((each.cell.row, each.cell.column, *each.row()) for each in answer.answers)
    table = Table((ROW, COLUMN, *answer.head, NOTE), rows, frozenset(answer.head))
    text = tuple(sentence for sentence in (answer.forms, answer.table.note) if sentence)
    return Section(f"{paper}/{answer.table.name}: {answer.table.title}", text, table=table, level=3)


def _figure(paper: str, answer: FigureAnswer) -> list[Section]:
    """The picture, and the numbers of each panel as a table."""
    if answer.computed is None:
        return []
    text = (*answer.computed.findings, *([answer.figure.note] if answer.figure.note else []))
    title, svg = (
        f"{paper}/{answer.figure.name}: {answer.heading}",
        computed_svg(answer.computed, answer.heading),
    )
    panels = []
    for panel in answer.computed.panels:
        head = tuple(panel.head())
        table = Table((*head[:-1], NOTE), tuple(map(tuple, panel.rows())), frozenset(head[1:-1]))
        panels.append(Section(f"{panel.title}: {panel.y_label}", table=table, level=4))
    return [Section(title, text, svg, level=3), *panels]


def _not_run(answers: Sequence[PaperAnswer]) -> list[Section]:
    """What was asked for and did not run, each with the reasons."""
    said = []
    for answer in answers:
        for table in answer.tables:
            if not table.ran:
                why = "; ".join(dict.fromkeys(each.note for each in table.answers))
                said.append(f"{answer.paper.name}/{table.table.name}: {why}")
        said += [
            f"{answer.paper.name}/{figure.figure.name}: {figure.note}"
            for figure in answer.figures
            if figure.computed is None
        ]
    return [Section("Not run", tuple(said))] if said else []
