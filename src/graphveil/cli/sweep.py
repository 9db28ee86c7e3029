"""graphveil sweep: an experiment over the values of one to three of its fields, as tables and a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from graphveil.cli.cells import print_table, watched_cells
from graphveil.cli.options import AnyVersion, AsJson, SettingPairs
from graphveil.cli.parse import parse_settings
from graphveil.cli.run import INTERRUPTED
from graphveil.errors import InputError
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.show.figure import check_figure
from graphveil.experiments.specs.file import SETTINGS, Fields, packaged, spec_fields
from graphveil.experiments.specs.presence import not_here
from graphveil.experiments.specs.shortened import SHORT
from graphveil.experiments.sweeps.figure import write_figure
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import FOLDER, Cell, Sweep, find_sweep, read_sweep


def sweep(
    name: Annotated[
        str | None, typer.Argument(help="A sweep by name, or a .toml file; without one, all are listed.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Another graph than the sweep names; of a sweep over graphs only these, may be repeated.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All runs and epochs of slow cells too: those where every user answers every value of a large graph.",
        ),
    ] = False,
    runs: Annotated[
        int | None, typer.Option(help="How many runs a cell; as the sweep says by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 1,
    setting: SettingPairs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to draw the figure, .svg or .png; NAME.svg in this folder by default."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Reuse runs that are finished already, or compute all anew."),
    ] = True,
    any_version: AnyVersion = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment over the values of one to three of its fields: tables, and a figure with controls and structure.

    A file has a title, the fields of the experiment below [base], and one to three [[axes]], each with a field (or
    settings.KEY) and its values: the first is x, the second gives lines, the third panels. An axis may have a label and choices instead: names
    for several fields at once, like a method with its settings; a line that sets the field of x to "none" is flat.

    Where every user answers every value of a large graph, a cell is one run of 100 epochs, and that is said, unless --all is given.
    Of a sweep over graphs, those that are not on this machine are left out, and that is said.

    Finished runs are kept, so the same command goes on where it was interrupted; those of another version of graphveil are
    computed again unless --any-version is given.

    Example: graphveil sweep ppgnn-hops --runs 3 --jobs 2 --out hops.svg

    Example: graphveil sweep my-sweep.toml --fresh
    """
    if name is None:
        listed(as_json)
        return
    chosen = find_sweep(name)
    given: Fields = {SETTINGS: parse_settings(setting)} if setting else {}
    given |= {} if runs is None else {"runs": runs}
    chosen = chosen.over(spec_fields(given, "the command")).on(data or chosen.graphs)
    chosen, left_out = here(chosen)
    cells = chosen.cells() if everything else [cell.shortened() for cell in chosen.cells()]
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    if any_version and not resume:
        raise InputError("--any-version has no meaning where all is computed anew: leave out --fresh")
    file = check_figure(out or Path(f"{chosen.name}.svg"))
    done = watched_cells([cell.spec for cell in cells], jobs=jobs, fresh=not resume, any_version=any_version)
    result = SweepResult.of(chosen, cells, done)
    drawn = None if result.interrupted else file
    if drawn is not None:
        write_figure(result, drawn)
    if as_json:
        more = {"figure": None if drawn is None else str(drawn), "left_out": left_out}
        short = [] if everything else short_cells(cells)
        typer.echo(json.dumps({**result.to_dict(), **more, "shortened": short}, ensure_ascii=False))
    else:
        show(result, drawn)
        for told in remarks(cells, left_out, everything):
            typer.echo(told)
    if result.interrupted:
        state = f"{len(result.results)} of {len(cells)} cells are finished and kept"
        typer.echo(f"Interrupted: {state}, the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED)


def here(sweep: Sweep) -> tuple[Sweep, list[str]]:
    """A sweep over graphs on those that are here, and what to do about the others; it is refused where none is."""
    missing = {graph: why for graph in sweep.graphs if (why := not_here(graph))}
    if not missing:
        return sweep, []
    if len(missing) == len(sweep.graphs):
        raise InputError("; ".join(missing.values()))
    return sweep.on([graph for graph in sweep.graphs if graph not in missing]), list(missing.values())


def short_cells(cells: Sequence[Cell]) -> list[str]:
    """The cells of one short run, by what answers every value and on which graph."""
    short = [f"{cell.spec.budgets.mechanism} on {cell.spec.data}" for cell in cells if cell.slow]
    return list(dict.fromkeys(short))


def remarks(cells: Sequence[Cell], left_out: Sequence[str], everything: bool) -> list[str]:
    """What is to be said of how a sweep was run."""
    short = [] if everything else short_cells(cells)
    said = [f"{', '.join(short)}: {SHORT}."] if short else []
    return [*said, *(f"Left out: {why}." for why in left_out)]


def listed(as_json: bool) -> None:
    """The sweeps that come with graphveil."""
    titles = {name: read_sweep(file).title for name, file in packaged(FOLDER).items()}
    if as_json:
        typer.echo(json.dumps({"sweeps": titles}, ensure_ascii=False))
        return
    for name, title in titles.items():
        typer.echo(f"{name:<22}{title}")


def show(result: SweepResult, file: Path | None) -> None:
    """The table, and where the figure is."""
    for panel in result.panels:
        typer.echo(f"{panel.sweep.title}: {panel.metric}" if panel.results else panel.sweep.title)
        print_rows(panel.head(), panel.rows())
        if panel.sweep.spread:
            typer.echo(f"±: {SPREADS[panel.sweep.spread].words}, as the document draws it")
            print_rows([panel.sweep.axes[0].label, *panel.sweep.lines], panel.spread_rows())
        for name in panel.sweep.also:
            typer.echo(f"{name.replace('_', ' ')} (%)")
            print_rows([panel.sweep.axes[0].label, *panel.sweep.lines], panel.also_rows(name))
    if file is not None:
        typer.echo(f"The figure is in {file}.")


def print_rows(head: list[str], rows: list[list[str]]) -> None:
    """A table, its first column to the left."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for number, name in enumerate(head):
        table.add_column(escape(name), justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row))
    print_table(table)
