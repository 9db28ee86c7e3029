"""Papers on one page: all tables and figures that ran, and at the top whether they compare with anything."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.experiments.papers.figures.draw import computed_svg
from graphveil.experiments.papers.parts import SCORE
from graphveil.experiments.papers.points import HEAD
from graphveil.experiments.papers.result import Answer, FigureAnswer, PaperAnswer, SweptAnswer, TableAnswer
from graphveil.experiments.runs.format import NONE, counted
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.specs.presence import briefly, sentences_of
from graphveil.experiments.specs.shortened import QUICK_EPOCHS
from graphveil.experiments.sweeps.figure import sweep_svg
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.table import Table

TITLE = "graphveil: printed tables and figures, run again"
QUICK = (
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
        QUICK if quick else compared([answer for table in tables for answer in table.answers]) or said.pop()
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
    texts = [
        text
        for section in sections
        for text in (*section.text, *(cell for row in section.rows for cell in row))
    ]
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
    title = f"{paper}/{answer.figure.name}: {answer.heading}"
    if answer.swept is not None and answer.ran:
        return _swept(title, note, answer, answer.swept)
    if answer.computed is None:
        return []
    svg = computed_svg(answer.computed, answer.heading)
    panels = []
    for panel in answer.computed.panels:
        head = tuple(panel.head())
        table = Table((*head[:-1], NOTE), tuple(map(tuple, panel.rows())), frozenset(head[1:-1]))
        panels.append(Section(f"{panel.title}: {panel.y_label}", table=table, level=4))
    return [Section(title, (*answer.computed.findings, *note), svg, level=3), *panels]


def _swept(title: str, note: list[str], answer: FigureAnswer, swept: SweptAnswer) -> list[Section]:
    """A sweep: what the text says of it, and a table for each panel, in the document's form too where it draws a spread."""
    points = tuple(map(tuple, answer.point_rows()))
    said = Table(HEAD, points, frozenset(HEAD[1:])) if points else None
    first = Section(title, (*swept.remarks, *note), sweep_svg(swept.result), said, level=3)
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
