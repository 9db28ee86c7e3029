"""graphveil paper: a printed table again, theirs and ours beside the control; and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from graphveil.checks import check_whole
from graphveil.cli.console import RUNS_KEPT, interrupted, one_bar, print_result, say
from graphveil.cli.options import AllRuns, AsJson, Computing, Options, Page
from graphveil.cli.studies import run_options, section_parts, study_bars
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.experiment_file import Fields
from graphveil.experiments.paper_result import FigureResult, PaperResult, papers_page
from graphveil.experiments.papers import FigureInput, Paper, PaperFigure, papers, select, select_every
from graphveil.experiments.runner import RunOptions, run_studies, run_study
from graphveil.experiments.study_result import UNFINISHED, StudyResult
from graphveil.experiments.table import Table
from graphveil.files import FIGURES, check_output, write_whole
from graphveil.methods.terms import option
from graphveil.number_format import counted


def paper(
    *,
    name: str | None = option(
        None,
        "NAME, NAME/TABLE or NAME/FIGURE, with a .toml file of your own as NAME too; without it, papers, tables and "
        "figures are listed.",
        positional=True,
    ),
    every: bool = option(False, "Run all papers that come along.", "--every"),
    everything: AllRuns = False,
    quick: bool = option(
        False, "One run (two where they are compared) and few epochs, to see that it works.", "--quick"
    ),
    data: list[str] | None = option(
        None, "Only the cells on this graph, may be repeated; a figure is computed from this one."
    ),
    column: list[str] | None = option(
        None,
        "Only this column of a table, by its label, may be repeated; figures have none and are left out.",
    ),
    runs: int | None = option(None, "How many runs a number; as many as its file says by default."),
    computing: Annotated[Computing, Options(without=("checkpoint_every", "resume"))],
    out: Path | None = option(
        None,
        "Where to draw a figure, .svg or .png; NAME-FIGURE.svg in this folder by default, or on the page alone.",
    ),
    page: Page = option(None, "Also write all tables and figures that ran to one page, .html."),
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
    if every and out is not None:
        raise InputError("--out is for one figure: name it, or leave --out out")
    chosen = select_every(data or []) if name is None else [select(name, data or [], column or [])]
    files = [check_files(each, out, page is not None) for each in chosen]
    options = run_options(computing, tolerant=True)
    options.engine.check_units("a table")
    check_whole(1 if runs is None else runs, "--runs", least=1)
    given = FigureInput(runs=runs, quick=quick)
    done: list[PaperResult] = []
    with options.engine.open():
        for each, drawn in zip(chosen, files, strict=True):
            stopped = bool(done) and done[-1].interrupted
            done.append(run_paper(each, drawn, given, everything, options, stopped))
    if page is not None:
        write_whole(page, papers_page(done))
    whole = {"papers": [result.to_dict() for result in done]} if every else done[0].to_dict()
    shown = [part for result in done for part in paper_parts(result)]
    shown += [] if page is None else ["", f"The page is in {page}."]
    print_result(whole, as_json, *shown)
    if done and done[-1].interrupted:
        raise interrupted(state_words(done))


def check_files(paper: Paper, out: Path | None, on_page: bool) -> dict[str, Path]:
    """Return the files of figures by their names; refused before anything is computed where one could not be written.

    Parameters
    ----------
    paper
        The paper, with the figures that are drawn.
    out
        The file that is named, for one figure.
    on_page
        Whether figures are on a page: they are drawn to a file only where one is named.
    """
    if out is not None and len(paper.figures) != 1:
        known = ", ".join(f"{paper.name}/{figure.name}" for figure in paper.figures) or "none here"
        raise InputError(f"--out is for one figure, this draws {len(paper.figures)}: name one ({known})")
    drawn = paper.figures if out or not on_page else ()
    files = {figure.name: out or Path(f"{paper.name}-{figure.name}.svg") for figure in drawn}
    return {name: check_output(file, FIGURES, "--out") for name, file in files.items()}


def run_paper(
    paper: Paper,
    files: Mapping[str, Path],
    given: FigureInput,
    everything: bool,
    options: RunOptions,
    stopped: bool,
) -> PaperResult:
    """Run tables and figures of a paper.

    Parameters
    ----------
    paper
        The paper, with the parts that are run.
    files
        The files of its figures, by name.
    given
        How many runs, and whether few epochs are enough.
    everything
        Whether to run all of slow cells.
    options
        How studies are run.
    stopped
        Whether the command was interrupted before: nothing is run, and that is said of each part.
    """
    runs = {} if given.runs is None else {"runs": given.runs}
    studies = [
        table.with_fields(runs).prepare(everything=everything, quick=given.quick) for table in paper.tables
    ]
    # What comes next, above the bars of one part after the other.
    several = len(paper.parts) > 1
    if several and studies and not stopped:
        say(f"{paper.name}: {counted(len(studies), 'table')}", err=True)
    tables = [StudyResult.unfinished(study) for study in studies]
    if studies and not stopped:
        with study_bars() as bars:
            tables = run_studies(studies, options, bars)
        stopped = tables[0].interrupted
    figures: list[FigureResult] = []
    for figure in paper.figures:
        if several and not stopped:
            say(f"{paper.name}/{figure.name}: {figure.about}", err=True)
        result = FigureResult(figure, note=UNFINISHED)
        if not stopped:
            result = run_figure(figure, given, {} if given.quick else runs, everything, options)
        stopped, file = result.interrupted, files.get(figure.name)
        if file and result.chart and not stopped:
            result.chart.write(file)
            result = replace(result, file=file)
        figures.append(result)
    return PaperResult(paper, tuple(tables), tuple(figures), given.quick)


def run_figure(
    figure: PaperFigure, given: FigureInput, runs: Fields, everything: bool, options: RunOptions
) -> FigureResult:
    """Compute a figure, or run its sweep.

    Parameters
    ----------
    figure
        The figure.
    given
        How many runs, and whether few epochs are enough.
    runs
        The number of runs as a field of a sweep.
    everything
        Whether to run all of slow cells.
    options
        How a sweep is run.
    """
    if figure.study is None:
        with one_bar() as tell:
            given = replace(given, progress=lambda what, share: tell(f"{figure.name}: {what}", share))
            return FigureResult.compute(figure, given)
    try:
        study = figure.study.with_fields(runs).prepare(everything=everything, quick=given.quick)
    except GraphveilError as error:
        return FigureResult(figure, note=str(error))
    with study_bars() as bars:
        result = FigureResult(figure, study=run_study(study, options, bars))
    return replace(result, note=UNFINISHED) if result.interrupted and not result.has_numbers else result


def state_words(done: Sequence[PaperResult]) -> str:
    """Return how much of what was asked for is there, and what becomes of it."""
    cells = [outcome for paper in done for table in paper.tables for outcome in table.outcomes]
    finished = sum(bool(outcome.parts) for outcome in cells)
    wanted = finished + sum(outcome.note == UNFINISHED for outcome in cells)
    figures = [figure for paper in done for figure in paper.figures]
    drawn = sum(figure.has_numbers and not figure.interrupted for figure in figures)
    parts = [f"{finished} of {wanted} cells of tables"] if cells else []
    parts += [f"{drawn} of {len(figures)} figures"] if figures else []
    learned = cells or any(figure.figure.study is not None for figure in figures)
    return f"{' and '.join(parts)} are finished; {RUNS_KEPT if learned else 'figures are computed anew'}"


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
    """Return a line for each printed number, and of each figure what is said of it and its numbers."""
    shown: list[Table | str] = [result.heading.title]
    for table in result.tables:
        shown += [part for section in table.sections for part in ("", *section_parts(section))]
    for figure in result.figures:
        shown += [part for section in figure.sections() for part in ("", *section_parts(section))]
        shown += [] if figure.file is None else [f"The figure is in {figure.file}."]
    return [*shown, "", *result.heading.text] if result.heading.text else shown
