"""Figures that `graphveil paper` computes: with a progress bar, drawn, and printed as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.cli.cells import print_table
from graphveil.errors import InputError
from graphveil.experiments.papers.figures.draw import write_computed
from graphveil.experiments.papers.figures.figure import Panel, Terms
from graphveil.experiments.papers.paper import Paper, PaperFigure
from graphveil.experiments.papers.result import QUICK_FIGURE, UNFINISHED, FigureAnswer, figure_answer
from graphveil.experiments.show.figure import check_figure


def check_files(paper: Paper, figures: Sequence[PaperFigure], out: Path | None) -> list[Path]:
    """Where each figure is drawn; refused before anything is computed where it could not be."""
    if out is not None and len(figures) != 1:
        known = ", ".join(f"{paper.name}/{figure.name}" for figure in paper.figures) or "none here"
        raise InputError(f"--out is for one figure, this draws {len(figures)}: name one ({known})")
    return [check_figure(out or Path(f"{paper.name}-{figure.name}.svg")) for figure in figures]


def computed_figures(
    figures: Sequence[PaperFigure], files: Sequence[Path], terms: Terms, interrupted: bool
) -> tuple[list[FigureAnswer], bool]:
    """Compute and draw figures, one after the other; and whether that was interrupted."""
    answers: list[FigureAnswer] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        for figure, file in zip(figures, files, strict=True):
            if interrupted:
                answers.append(FigureAnswer(figure, None, UNFINISHED))
                continue
            bar = bars.add_task(figure.name, total=1.0)

            def watch(what: str, share: float, bar: TaskID = bar, name: str = figure.name) -> None:
                bars.update(bar, description=f"{name}: {what}", completed=share)

            try:
                answer = figure_answer(figure, replace(terms, progress=watch))
            except KeyboardInterrupt:
                answers.append(FigureAnswer(figure, None, UNFINISHED))
                interrupted = True
                continue
            bars.update(bar, visible=False)
            if answer.computed is not None:
                write_computed(answer.computed, answer.heading, file)
                answer = replace(answer, file=file)
            answers.append(answer)
    return answers, interrupted


def show_figure(answer: FigureAnswer, quick: bool) -> None:
    """A table for each panel, what follows from them, and where the figure is."""
    typer.echo(f"\n{answer.heading}")
    if answer.computed is None:
        typer.echo(answer.note)
        return
    if quick:
        typer.echo(QUICK_FIGURE)
    for panel in answer.computed.panels:
        typer.echo(f"\n{panel.title}: {panel.y_label}")
        print_panel(panel)
    typer.echo()
    for sentence in answer.computed.findings:
        typer.echo(sentence)
    if answer.figure.note:
        typer.echo(answer.figure.note)
    typer.echo(f"The figure is in {answer.file}.")


def print_panel(panel: Panel) -> None:
    """A row for each line, a column for each x."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    head = panel.head()
    for place, name in enumerate(head):
        inside = 0 < place < len(head) - 1
        table.add_column(escape(name), justify="right" if inside else "left", no_wrap=True)
    for row in panel.rows():
        table.add_row(*map(escape, row))
    print_table(table)
