"""graphveil paper: a printed table again, theirs and ours beside the control; and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphveil.checks import check_whole
from graphveil.cli.console import RUNS_KEPT, interrupted, one_bar, print_result, say
from graphveil.cli.options import AllRuns, AsJson, Computing, Options, with_options
from graphveil.cli.studies import run_options, section_parts, study_bars
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.computed_figures import FigureInput
from graphveil.experiments.paper_result import FigureResult, PaperResult, compute_paper_figure, papers_page
from graphveil.experiments.papers import Paper, PaperFigure, PaperSelection, papers, select, select_every
from graphveil.experiments.runner import RunOptions, run_studies, run_study
from graphveil.experiments.study_result import UNFINISHED, StudyResult
from graphveil.experiments.table import Table
from graphveil.files import FIGURES, PAGES, check_output, write_whole
from graphveil.number_format import counted

QUICK_FIGURE = "Quick: few values, and one run where it draws at random, to see that it works."


@with_options
def paper(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            help="NAME, NAME/TABLE or NAME/FIGURE, with a .toml file of your own as NAME too; without it, papers, tables and "
            "figures are listed."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Run all papers that come along.")] = False,
    everything: AllRuns = False,
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
    computing: Annotated[Computing, Options(without=("checkpoint_every", "resume"))],
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
        list_papers(as_json)
        return
    if name is not None and every:
        raise InputError("--every runs all papers, so none is named: leave one of both out")
    if every and column:
        raise InputError("--column is for the tables of one paper: name it, or leave --column out")
    chosen = select_every(data or []) if name is None else [select(name, data or [], column or [])]
    if every and out is not None:
        raise InputError("--out is for one figure: name it, or leave --out out")
    files = [check_files(paper, figures, out, on_page=page is not None) for paper, _, figures in chosen]
    if page is not None:
        check_output(page, PAGES, "--page")
    options = run_options(computing, tolerant=True)
    options.engine.check_units("a table")
    check_whole(1 if runs is None else runs, "--runs", least=1)
    given = FigureInput(runs=runs, quick=quick)
    done: list[PaperResult] = []
    with options.engine.open():
        for selection, drawn in zip(chosen, files, strict=True):
            stopped = bool(done) and done[-1].interrupted
            done.append(run_paper(selection, drawn, given, everything, options, stopped))
    if page is not None:
        write_whole(page, papers_page(done))
    whole = {"papers": [result.to_dict() for result in done]} if every else done[0].to_dict()
    shown = [part for result in done for part in paper_parts(result)]
    shown += [] if page is None else ["", f"The page is in {page}."]
    print_result(whole, as_json, *shown)
    if done and done[-1].interrupted:
        raise interrupted(state_words(done))


def check_files(
    paper: Paper, figures: Sequence[PaperFigure], out: Path | None, *, on_page: bool = False
) -> list[Path | None]:
    """Return where each figure is drawn; refused before anything is computed where it could not be.

    Figures that are ``on_page`` are drawn to a file only where one is named.
    """
    if out is not None and len(figures) != 1:
        known = ", ".join(f"{paper.name}/{figure.name}" for figure in paper.figures) or "none here"
        raise InputError(f"--out is for one figure, this draws {len(figures)}: name one ({known})")
    if out is None and on_page:
        return [None] * len(figures)
    named = (out or Path(f"{paper.name}-{figure.name}.svg") for figure in figures)
    return [check_output(file, FIGURES, "--out") for file in named]


def run_paper(
    selection: PaperSelection,
    files: Sequence[Path | None],
    given: FigureInput,
    everything: bool,
    options: RunOptions,
    stopped: bool,
) -> PaperResult:
    """Run tables and figures of a paper; nothing more where all was ``stopped``, and that is said of each part."""
    name, runs = selection.paper.name, {} if given.runs is None else {"runs": given.runs}
    studies = [
        table.with_fields(runs).prepare(everything=everything, quick=given.quick)
        for table in selection.tables
    ]
    # What comes next, above the bars of one part after the other.
    several = len(selection.tables) + len(selection.figures) > 1
    if several and studies and not stopped:
        say(f"{name}: {counted(len(studies), 'table')}", err=True)
    tables = [StudyResult.unfinished(study) for study in studies]
    if studies and not stopped:
        with study_bars() as bars:
            tables = run_studies(studies, options, bars)
        stopped = tables[0].interrupted
    figures: list[FigureResult] = []
    for figure, file in zip(selection.figures, files, strict=True):
        if several and not stopped:
            say(f"{name}/{figure.name}: {figure.about}", err=True)
        figures.append(run_figure(figure, file, given, everything, options, stopped))
        stopped = figures[-1].interrupted
    return PaperResult(selection, tuple(tables), tuple(figures), given.quick)


def run_figure(
    figure: PaperFigure,
    file: Path | None,
    given: FigureInput,
    everything: bool,
    options: RunOptions,
    stopped: bool,
) -> FigureResult:
    """Compute a figure or run its sweep, and draw it to a file where there is one; what is not finished is not drawn."""
    if stopped:
        return FigureResult(figure, note=UNFINISHED)
    if figure.study is None:
        with one_bar() as tell:
            given = replace(given, progress=lambda what, share: tell(f"{figure.name}: {what}", share))
            result = compute_paper_figure(figure, given)
    else:
        runs = {} if given.runs is None or given.quick else {"runs": given.runs}
        try:
            study = figure.study.with_fields(runs).prepare(everything=everything, quick=given.quick)
        except GraphveilError as error:
            return FigureResult(figure, note=str(error))
        with study_bars() as bars:
            result = FigureResult(figure, study=run_study(study, options, bars))
    if not result.has_numbers and result.interrupted:
        return replace(result, note=UNFINISHED)
    if file is None or result.chart is None or result.interrupted:
        return result
    result.chart.write(file)
    return replace(result, file=file)


def state_words(done: Sequence[PaperResult]) -> str:
    """Return how much of what was asked for is there, and what becomes of it."""
    cells = [outcome for paper in done for table in paper.tables for outcome in table.outcomes]
    finished = sum(bool(outcome.parts) for outcome in cells)
    wanted = finished + sum(outcome.note == UNFINISHED for outcome in cells)
    figures = [figure for paper in done for figure in paper.figures]
    drawn = sum(figure.has_numbers and not figure.interrupted for figure in figures)
    said = [f"{finished} of {wanted} cells of tables"] if cells else []
    said += [f"{drawn} of {len(figures)} figures"] if figures else []
    learned = cells or any(figure.figure.study is not None for figure in figures)
    return f"{' and '.join(said)} are finished; {RUNS_KEPT if learned else 'figures are computed anew'}"


def list_papers(as_json: bool) -> None:
    """Print the papers that come with graphveil, their tables and their figures."""
    known = papers()
    lines = []
    for paper in known:
        lines.append(f"{paper.name}: {paper.title} ({paper.source})")
        parts = {table.name: f"{table.title}; {', '.join(table.graphs)}" for table in paper.tables}
        parts |= {figure.name: figure.about for figure in paper.figures}
        lines += [f"  {paper.name + '/' + name:<24}{about}" for name, about in parts.items()]
        lines += [f"  {name:<24}not run: {what}" for name, what in paper.others.items()]
    whole = {paper.name: paper.parts for paper in known}
    others = {paper.name: dict(paper.others) for paper in known}
    print_result({"papers": whole, "others": others}, as_json, *lines)


def paper_parts(result: PaperResult) -> list[Table | str]:
    """Return a line for each printed number, and the tables of each figure."""
    shown: list[Table | str] = [f"{result.selection.paper.title} ({result.selection.paper.source})"]
    for table in result.tables:
        for section in table.sections:
            shown += ["", *section_parts(section)]
    for figure in result.figures:
        shown += ["", figure.figure.heading, *figure_parts(figure, result.quick)]
    return [*shown, "", result.not_run] if result.not_run else shown


def figure_parts(result: FigureResult, quick: bool) -> list[Table | str]:
    """Return a table for each panel, what follows from them, and where the figure is."""
    if not result.has_numbers:
        return [result.missing]
    shown: list[Table | str] = [*result.remarks]
    for section in [] if result.study is None else result.study.sections:
        shown += section_parts(section)
    shown += [] if result.points is None else [result.points]
    if result.computed is not None:
        shown += [QUICK_FIGURE] if quick else []
        for panel in result.computed.panels:
            shown += ["", f"{panel.title}: {panel.y_label}", panel.table()]
        shown += ["", *result.computed.findings]
    shown += [result.figure.note] if result.figure.note else []
    return shown if result.file is None else [*shown, f"The figure is in {result.file}."]
