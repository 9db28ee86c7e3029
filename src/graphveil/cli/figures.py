"""Figures of `graphveil paper`, computed or swept: with a progress bar, drawn, and printed as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

from graphveil.cli.console import Console, Description, say, show_table
from graphveil.cli.swept import run_sweep, show_sweep
from graphveil.engine.engine import Engine
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.papers.figures.draw import write_computed
from graphveil.experiments.papers.figures.figure import ComputedFigure, Panel, Terms
from graphveil.experiments.papers.parts import Paper, PaperFigure
from graphveil.experiments.papers.points import HEAD
from graphveil.experiments.papers.result import (
    QUICK_FIGURE,
    UNFINISHED,
    FigureAnswer,
    SweptAnswer,
    figure_answer,
)
from graphveil.experiments.show.figure import check_figure
from graphveil.experiments.sweeps.figure import write_figure
from graphveil.experiments.sweeps.ready import ready
from graphveil.experiments.table import Table


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
    return [check_figure(out or Path(f"{paper.name}-{figure.name}.svg")) for figure in figures]


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
        write_computed(answer.computed, answer.heading, file)
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
        write_figure(result, file)
        answer = replace(answer, file=file)
    return answer, result.interrupted


def show_figure(answer: FigureAnswer, quick: bool) -> None:
    """A table for each panel, what follows from them, and where the figure is."""
    say("", answer.heading)
    if not answer.ran:
        say(answer.missing)
        return
    if answer.swept is not None:
        for remark in answer.swept.remarks:
            say(remark)
        show_sweep(answer.swept.result, quick)
        if rows := answer.point_rows():
            show_table(Table.of(HEAD, rows))
    if answer.computed is not None:
        _show_computed(answer.computed, quick)
    if answer.figure.note:
        say(answer.figure.note)
    if answer.file is not None:
        say(f"The figure is in {answer.file}.")


def _show_computed(computed: ComputedFigure, quick: bool) -> None:
    if quick:
        say(QUICK_FIGURE)
    for panel in computed.panels:
        say("", f"{panel.title}: {panel.y_label}")
        print_panel(panel)
    say()
    for sentence in computed.findings:
        say(sentence)


def print_panel(panel: Panel) -> None:
    """A row for each line, a column for each x."""
    show_table(Table.of(panel.head(), panel.rows(), text=panel.head()[-1:]))
