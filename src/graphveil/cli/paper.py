"""graphveil paper: a printed table again, theirs and ours beside the control; and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

from graphveil.cli.console import Console, Description, interrupted, say, show_table
from graphveil.cli.options import AnyVersion, AsJson, EngineName, Jobs, Workers, chosen_engine
from graphveil.cli.sweep import run_sweep, show_sweep, watched_cells
from graphveil.engine.engine import Engine
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.figure import Chart
from graphveil.experiments.paper_result import (
    QUICK,
    QUICK_FIGURE,
    UNFINISHED,
    FigureAnswer,
    PaperAnswer,
    SweptAnswer,
    TableAnswer,
    answers,
    apart,
    figure_answer,
    not_runnable,
    papers_page,
)
from graphveil.experiments.papers import (
    POINT_HEAD,
    Paper,
    PaperCell,
    PaperFigure,
    PaperTable,
    Terms,
    figures_on,
    find_parts,
    in_columns,
    only,
    papers,
)
from graphveil.experiments.study import ready
from graphveil.experiments.study_runner import Cells
from graphveil.experiments.table import Table
from graphveil.files import FIGURES, PAGES, check_output, write_whole
from graphveil.number_format import counted


def check_files(
    paper: Paper, figures: Sequence[PaperFigure], out: Path | None, *, on_page: bool = False
) -> list[Path | None]:
    """Where each figure is drawn; refused before anything is computed where it could not be.

    Figures that are ``on_page`` are drawn to a file only where one is named.
    """
    if out is not None and len(figures) != 1:
        known = ", ".join(f"{paper.name}/{figure.name}" for figure in paper.figures) or "none here"
        raise InputError(f"--out is for one figure, this draws {len(figures)}: name one ({known})")
    if out is None and on_page:
        return [None] * len(figures)
    return [
        check_output(out or Path(f"{paper.name}-{figure.name}.svg"), FIGURES, "--out") for figure in figures
    ]


def computed_figure(figure: PaperFigure, file: Path | None, terms: Terms) -> tuple[FigureAnswer, bool]:
    """Compute and draw a figure; and whether that was interrupted."""
    columns = (Description(), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(figure.name, total=1.0)

        def watch(what: str, share: float) -> None:
            bars.update(bar, description=f"{figure.name}: {what}", completed=share)

        try:
            answer = figure_answer(figure, replace(terms, progress=watch))
        except KeyboardInterrupt:
            return FigureAnswer(figure, note=UNFINISHED), True
    if answer.computed is None:
        return answer, False
    if file is not None:
        answer.computed.write(file)
    return replace(answer, file=file), False


def swept_figure(
    figure: PaperFigure,
    file: Path | None,
    terms: Terms,
    *,
    jobs: int | None,
    engine: Engine,
    everything: bool,
    any_version: bool,
) -> tuple[FigureAnswer, bool]:
    """Run a sweep and draw it; and whether that was interrupted. What is not finished is not drawn."""
    try:
        sweep = figure.found_sweep
        if terms.runs is not None and not terms.quick:
            sweep = sweep.over({"runs": terms.runs})
        asked = ready(sweep, everything=everything, quick=terms.quick)
    except GraphveilError as error:
        return FigureAnswer(figure, note=str(error)), False
    result = run_sweep(asked, jobs=jobs, engine=engine, tolerant=True, any_version=any_version)
    answer = FigureAnswer(figure, swept=SweptAnswer(asked, result))
    if not answer.ran:
        return replace(answer, note=UNFINISHED if result.interrupted else ""), result.interrupted
    if file is not None and not result.interrupted:
        result.chart.write(file)
        answer = replace(answer, file=file)
    return answer, result.interrupted


def show_figure(answer: FigureAnswer, quick: bool) -> None:
    """A table for each panel, what follows from them, and where the figure is."""
    say("", answer.figure.heading)
    if not answer.ran:
        say(answer.missing)
        return
    if answer.swept is not None:
        for remark in answer.swept.remarks:
            say(remark)
        show_sweep(answer.swept.result, quick)
        if rows := answer.point_rows():
            show_table(Table.of(POINT_HEAD, rows))
    if answer.computed is not None:
        _show_computed(answer.computed, quick)
    if answer.figure.note:
        say(answer.figure.note)
    if answer.file is not None:
        say(f"The figure is in {answer.file}.")


def _show_computed(computed: Chart, quick: bool) -> None:
    if quick:
        say(QUICK_FIGURE)
    for panel in computed.panels:
        say("", f"{panel.title}: {panel.y_label}")
        show_table(panel.table())
    say()
    for sentence in computed.findings:
        say(sentence)


# A paper with those of its tables and figures that are asked for.
Parts = tuple[Paper, tuple[PaperTable, ...], tuple[PaperFigure, ...]]


def paper(
    name: Annotated[
        str | None,
        typer.Argument(
            help="NAME, NAME/TABLE or NAME/FIGURE, with a .toml file of your own as NAME too; without it, papers, tables and "
            "figures are listed."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Run all papers that come along.")] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All runs and epochs of slow cells too: those where every user answers every value of a large graph.",
        ),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="One run (two where they are compared) and few epochs, to see that it works."
        ),
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Only the cells on this graph, may be repeated; a figure is computed from this one.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Only this column of a table, by its label, may be repeated; figures have none and are left out.",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="How many runs a number; as many as its file says by default.")
    ] = None,
    jobs: Jobs = None,
    engine: EngineName = "local",
    workers: Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to draw a figure, .svg or .png; NAME-FIGURE.svg in this folder by default, or on the page alone."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Also write all tables and figures that ran to one page, .html."),
    ] = None,
    any_version: AnyVersion = False,
    as_json: AsJson = False,
) -> None:
    """Run a printed table again: their number, ours with its 95% interval, and its control, side by side.

    Intervals are t-intervals. Where the document prints a bootstrap interval or a standard deviation, ours stands in that form
    too; a bootstrap over few runs is too narrow (over five it covers the mean in 83% of cases).

    Numbers are scores in percent unless a unit or a note says otherwise; seconds and memory are measured one run after the
    other, each in a process of its own.

    Where every user answers every value of a large graph, a number is that of one run of 100 epochs, and says so, unless --all is
    given. Cells whose graph is not on this machine are left out and say so. Finished runs are kept, so the same command goes on
    where it was interrupted; those of another version of graphveil are computed again unless --any-version is given.

    A figure is printed as tables and drawn. It is a sweep, as `graphveil sweep` runs it, or computed without any experiment; then what
    follows from its numbers stands above it. What of a document is no experiment is named.

    Example: graphveil paper ppgnn/table3 --data cora --quick

    Example: graphveil paper togl/table5 --column 1 --column 2

    Example: graphveil paper heterorr/fig10 --out errors.png

    Example: graphveil paper --every --quick --page papers.html

    Example: graphveil paper my-paper.toml/table1

    Example: graphveil paper upgnet --engine ray://auto
    """
    if name is None and not every:
        if everything or quick or data or column or page is not None:
            raise InputError("name a paper, or give --every: `graphveil paper` alone lists them")
        listed(as_json)
        return
    if name is not None and every:
        raise InputError("--every runs all papers, so none is named: leave one of both out")
    if every and column:
        raise InputError("--column is for the tables of one paper: name it, or leave --column out")
    chosen = every_part(data or []) if name is None else [chosen_parts(name, data or [], column or [])]
    if every and out is not None:
        raise InputError("--out is for one figure: name it, or leave --out out")
    files = [check_files(paper, figures, out, on_page=page is not None) for paper, _, figures in chosen]
    if page is not None:
        check_output(page, PAGES, "--page")
    computing = chosen_engine(engine, workers, jobs)
    computing.check_units("a table")
    if runs is not None and runs < 1:
        raise InputError(f"runs must be at least 1, got {runs}")
    terms = Terms(runs=runs, quick=quick)
    done: list[PaperAnswer] = []
    stopped = False
    asked = Asked(terms, jobs, computing, everything, any_version)
    with computing.open():
        for parts, drawn in zip(chosen, files, strict=True):
            done.append(answered(parts, drawn, asked, stopped))
            stopped = done[-1].interrupted
    if page is not None:
        write_whole(page, papers_page(done))
    if as_json:
        whole = {"papers": [answer.to_dict() for answer in done]} if every else done[0].to_dict()
        say(json.dumps(whole, ensure_ascii=False))
    else:
        for answer in done:
            show(answer)
        if page is not None:
            say("", f"The page is in {page}.")
    if stopped:
        raise interrupted(kept_words(done))


def kept_words(done: list[PaperAnswer]) -> str:
    """How much of what was asked for is there, and what becomes of it."""
    cells = [answer for paper in done for table in paper.tables for answer in table.answers]
    finished = sum(bool(answer.reading.parts) for answer in cells)
    wanted = sum(bool(answer.reading.parts) or answer.note == UNFINISHED for answer in cells)
    figures = [figure for paper in done for figure in paper.figures]
    drawn = sum(figure.finished for figure in figures)
    said = [f"{finished} of {wanted} cells of tables"] if cells else []
    said += [f"{drawn} of {len(figures)} figures"] if figures else []
    learned = cells or any(figure.figure.sweep for figure in figures)
    kept = (
        "every finished run is kept, and the same command goes on from there"
        if learned
        else "figures are computed anew"
    )
    return f"{' and '.join(said)} are finished; {kept}"


def chosen_parts(name: str, data: list[str], columns: Sequence[str] = ()) -> Parts:
    """What of a paper is computed: its tables and figures on some graphs, or all where none is named.

    Where ``columns`` are named, its tables have these alone, and figures, which have none, are left out.
    """
    paper, tables, figures = find_parts(name)
    if columns and not tables:
        raise InputError(f"{name} has no table, so no columns: leave --column out")
    if columns:
        tables, figures = in_columns(tables, columns), ()
    chosen = figures_on(figures, data, alone=not tables and len(figures) == 1)
    if figures and not tables and not chosen:
        raise InputError(f"{name} is computed without a graph: leave --data out")
    on_tables = any(graph in data for table in tables for graph in table.data)
    # A figure can be computed from graphs that no table has.
    return paper, () if chosen and data and not on_tables else only(tables, data), chosen


def every_part(data: list[str]) -> list[Parts]:
    """All papers, or those that have a table on one of some graphs, and of these what is on them."""
    chosen, graphs = [], []
    for paper in papers():
        own = list(dict.fromkeys(graph for table in paper.tables for graph in table.data))
        here = [graph for graph in data if graph in own]
        if here or not data:
            chosen.append(chosen_parts(paper.name, here))
        graphs += own
    if missing := [graph for graph in data if graph not in graphs]:
        known = ", ".join(dict.fromkeys(graphs))
        raise InputError(f"no paper has a table on {missing[0]!r}: choose from {known}")
    return chosen


@dataclass(frozen=True)
class Asked:
    """How all that was chosen is to be run."""

    terms: Terms
    jobs: int | None
    engine: Engine
    everything: bool
    any_version: bool


def answered(parts: Parts, files: list[Path | None], asked: Asked, stopped: bool = False) -> PaperAnswer:
    """Run tables and figures of a paper; nothing more where all was ``stopped``, and that is said of each part."""
    paper, tables, figures = parts
    terms = asked.terms
    if terms.runs is not None:
        tables = _each(tables, lambda cell: cell.with_runs(terms.runs or 1))
    if terms.quick:
        tables = _each(tables, lambda cell: cell.quick())
    elif not asked.everything:
        tables = _each(tables, lambda cell: cell.shortened())
    # What comes next, above the bars of one part after the other.
    several = len(tables) + len(figures) > 1 and not stopped
    if several and tables:
        say(f"{paper.name}: {counted(len(tables), 'table')}", err=True)
    results, stopped = computed(tables, asked, stopped)
    drawn: list[FigureAnswer] = []
    for figure, file in zip(figures, files, strict=True):
        if several and not stopped:
            say(f"{paper.name}/{figure.name}: {figure.about}", err=True)
        answer, stopped = _figure(figure, file, asked, stopped)
        drawn.append(answer)
    whole = (len(tables), len(figures)) == (len(paper.tables), len(paper.figures))
    return PaperAnswer(paper, tuple(results), tuple(drawn), terms.quick, stopped, whole)


def _figure(figure: PaperFigure, file: Path | None, asked: Asked, stopped: bool) -> tuple[FigureAnswer, bool]:
    if stopped:
        return FigureAnswer(figure, note=UNFINISHED), True
    if not figure.sweep:
        return computed_figure(figure, file, asked.terms)
    return swept_figure(
        figure,
        file,
        asked.terms,
        jobs=asked.jobs,
        engine=asked.engine,
        everything=asked.everything,
        any_version=asked.any_version,
    )


def _each(tables: tuple[PaperTable, ...], change: Callable[[PaperCell], PaperCell]) -> tuple[PaperTable, ...]:
    return tuple(replace(table, cells=tuple(map(change, table.cells))) for table in tables)


def computed(
    tables: tuple[PaperTable, ...], asked: Asked, stopped: bool = False
) -> tuple[list[TableAnswer], bool]:
    """The answers of each table, and whether it was interrupted. Quick results are not kept for reports."""
    quick = asked.terms.quick
    cells = [cell for table in tables for cell in table.cells]
    skipped = [cell.skipped(slow_too=asked.everything or not quick) for cell in cells]
    todo = [cell for cell, why in zip(cells, skipped, strict=True) if not why]
    learning = [cell for cell in todo if cell.measure.read is not None]
    done = Cells((None,) * len(learning), interrupted=True)
    if not stopped:
        done = watched_cells(
            [cell.spec for cell in learning],
            jobs=asked.jobs,
            engine=asked.engine,
            tolerant=True,
            kept=not quick,
            skip=("structure",) if quick else (),
            alone=[cell.measure.alone for cell in learning],
            any_version=asked.any_version,
        )
    measured, stopped = apart([cell for cell in todo if cell.measure.read is None], done.interrupted)
    each = iter(answers(cells, skipped, done, measured))
    return [TableAnswer(table, tuple(next(each) for _ in table.cells)) for table in tables], stopped


def listed(as_json: bool) -> None:
    """The papers that come with graphveil, their tables and their figures."""
    known = papers()
    if as_json:
        whole = {paper.name: paper.parts for paper in known}
        others = {paper.name: dict(paper.others) for paper in known}
        say(json.dumps({"papers": whole, "others": others}, ensure_ascii=False))
        return
    for paper in known:
        say(f"{paper.name}: {paper.title} ({paper.source})")
        for table in paper.tables:
            say(f"  {paper.name + '/' + table.name:<24}{table.title}; {', '.join(table.data)}")
        for figure in paper.figures:
            say(f"  {paper.name + '/' + figure.name:<24}{figure.about}")
        for name, what in paper.others.items():
            say(f"  {name:<24}not run: {what}")


def show(done: PaperAnswer) -> None:
    """A line for each printed number, and one for each line of a figure."""
    say(f"{done.paper.title} ({done.paper.source})")
    for answered in done.tables:
        say("", answered.table.title)
        if done.quick:
            say(QUICK)
        rows, before = [], ""
        for answer in answered.answers:
            row = "" if answer.cell.row == before else answer.cell.row
            rows.append((row, answer.cell.column, *answer.row()))
            before = answer.cell.row
        show_table(Table.of(["", "", *answered.head, ""], rows))
        say(answered.forms)
        if answered.table.note:
            say(answered.table.note)
    for figure in done.figures:
        show_figure(figure, done.quick)
    if done.whole and done.paper.others:
        say("", not_runnable(done))
