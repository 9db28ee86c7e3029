"""graphveil paper: a printed table again, theirs and ours beside the control; and figures that are computed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from graphveil.cli.cells import print_table, watched_cells
from graphveil.cli.computed import check_files, computed_figures, show_figure
from graphveil.cli.options import AnyVersion, AsJson
from graphveil.cli.run import INTERRUPTED
from graphveil.errors import InputError
from graphveil.experiments.papers.figures.figure import Terms
from graphveil.experiments.papers.paper import (
    QUICK_EPOCHS,
    Paper,
    PaperFigure,
    PaperTable,
    figures_on,
    find_parts,
    only,
    papers,
)
from graphveil.experiments.papers.result import Answer, FigureAnswer, answers, apart
from graphveil.experiments.runs.statistics import SPREADS

QUICK = f"Quick: one run of at most {QUICK_EPOCHS} epochs, to see that it works. These numbers compare with nothing."
HEAD = ("theirs", "ours", "control", "structure")
# Where the document prints a spread.
SPREAD_HEAD = ("theirs", "ours likewise", *HEAD[1:])


def paper(
    name: Annotated[
        str | None,
        typer.Argument(
            help="NAME, NAME/TABLE or NAME/FIGURE; without it, papers, tables and figures are listed."
        ),
    ] = None,
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
    runs: Annotated[
        int | None, typer.Option(help="How many runs a number; as many as its file says by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to draw a figure, .svg or .png; NAME-FIGURE.svg in this folder by default."),
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

    A figure that is no table of experiments is computed, printed as tables, and drawn; what follows from its numbers stands above it.

    Example: graphveil paper ppgnn/table3 --data cora --quick

    Example: graphveil paper heterorr/fig10 --out errors.png
    """
    if name is None:
        if everything or quick or data:
            raise InputError("name a paper: `graphveil paper` alone lists them")
        listed(as_json)
        return
    chosen, tables, figures = chosen_parts(name, data or [])
    files = check_files(chosen, figures, out)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    if runs is not None and runs < 1:
        raise InputError(f"runs must be at least 1, got {runs}")
    if runs is not None:
        tables = tuple(
            replace(table, cells=tuple(cell.with_runs(runs) for cell in table.cells)) for table in tables
        )
    if quick:
        tables = tuple(replace(table, cells=tuple(cell.quick() for cell in table.cells)) for table in tables)
    elif not everything:
        tables = tuple(
            replace(table, cells=tuple(cell.shortened() for cell in table.cells)) for table in tables
        )
    results, interrupted = computed(tables, jobs, everything, quick, any_version)
    drawn, interrupted = computed_figures(figures, files, Terms(runs=runs, quick=quick), interrupted)
    if as_json:
        typer.echo(json.dumps(told(chosen, results, drawn, quick, interrupted), ensure_ascii=False))
    else:
        show(chosen, results, drawn, quick)
    if interrupted:
        kept = "what was computed is kept, the same command goes on from there"
        typer.echo(f"Interrupted: {kept if tables else 'figures are computed anew'}.", err=True)
        raise typer.Exit(INTERRUPTED)


def chosen_parts(name: str, data: list[str]) -> tuple[Paper, tuple[PaperTable, ...], tuple[PaperFigure, ...]]:
    """What of a paper is computed: its tables and figures on some graphs, or all where none is named."""
    paper, tables, figures = find_parts(name)
    chosen = figures_on(figures, data)
    if figures and not tables and not chosen:
        raise InputError(f"{name} is computed without a graph: leave --data out")
    on_tables = any(graph in data for table in tables for graph in table.data)
    # A figure can be computed from graphs that no table has.
    return paper, () if chosen and data and not on_tables else only(tables, data), chosen


def computed(
    tables: tuple[PaperTable, ...], jobs: int, everything: bool, quick: bool, any_version: bool
) -> tuple[list[tuple[PaperTable, list[Answer]]], bool]:
    """The answers of each table, and whether it was interrupted. Quick results are not kept for reports."""
    cells = [cell for table in tables for cell in table.cells]
    skipped = [cell.skipped(slow_too=everything or not quick) for cell in cells]
    todo = [cell for cell, why in zip(cells, skipped, strict=True) if not why]
    learning = [cell for cell in todo if cell.measure.read is not None]
    done = watched_cells(
        [cell.spec for cell in learning],
        jobs=jobs,
        tolerant=True,
        kept=not quick,
        skip=("structure",) if quick else (),
        alone=[cell.measure.alone for cell in learning],
        any_version=any_version,
    )
    measured, interrupted = apart([cell for cell in todo if cell.measure.read is None], done.interrupted)
    each = iter(answers(cells, skipped, done, measured))
    return [(table, [next(each) for _ in table.cells]) for table in tables], interrupted


def listed(as_json: bool) -> None:
    """The papers that come with graphveil, their tables and their figures."""
    known = papers()
    if as_json:
        whole = {paper.name: paper.parts for paper in known}
        typer.echo(json.dumps({"papers": whole}, ensure_ascii=False))
        return
    for paper in known:
        typer.echo(f"{paper.name}: {paper.title} ({paper.source})")
        for table in paper.tables:
            typer.echo(f"  {paper.name + '/' + table.name:<16}{table.title}; {', '.join(table.data)}")
        for figure in paper.figures:
            about = f"{figure.title}; {figure.data}" if figure.data else figure.title
            typer.echo(f"  {paper.name + '/' + figure.name:<16}{about}")


def told(
    paper: Paper,
    results: list[tuple[PaperTable, list[Answer]]],
    drawn: list[FigureAnswer],
    quick: bool,
    interrupted: bool,
) -> dict[str, Any]:
    """What `--json` says."""
    tables = [
        {
            "name": table.name,
            "title": table.title,
            "note": table.note,
            "spread": table.spread or None,
            "cells": [answer.to_dict() for answer in answered],
        }
        for table, answered in results
    ]
    about = {"paper": paper.name, "title": paper.title, "source": paper.source}
    figures = [answer.to_dict() for answer in drawn]
    return {**about, "quick": quick, "tables": tables, "figures": figures, "interrupted": interrupted}


def forms(table: PaperTable) -> str:
    """What stands around the numbers of a table, theirs and ours."""
    ours = "[…] are 95% t-intervals of our means."
    if not table.spread:
        return f"The document's numbers have no interval here; {ours}"
    return f"±: {SPREADS[table.spread].words}, theirs and ours; {ours}"


def show(
    paper: Paper, results: list[tuple[PaperTable, list[Answer]]], drawn: list[FigureAnswer], quick: bool
) -> None:
    """A line for each printed number, and one for each line of a figure."""
    typer.echo(f"{paper.title} ({paper.source})")
    for table, answered in results:
        typer.echo(f"\n{table.title}")
        if quick:
            typer.echo(QUICK)
        shown = Table(box=None, padding=(0, 2), header_style="bold")
        for label in ("", ""):
            shown.add_column(label, no_wrap=True)
        for label in SPREAD_HEAD if table.spread else HEAD:
            shown.add_column(label, justify="right", no_wrap=True)
        shown.add_column("", no_wrap=True)
        before = ""
        for answer in answered:
            row = "" if answer.cell.row == before else answer.cell.row
            shown.add_row(*map(escape, (row, answer.cell.column, *answer.row())))
            before = answer.cell.row
        print_table(shown)
        typer.echo(forms(table))
        if table.note:
            typer.echo(table.note)
    for figure in drawn:
        show_figure(figure, quick)
