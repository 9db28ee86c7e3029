"""graphveil sweep: an experiment over the values of one to three of its fields, as tables and a figure."""

from __future__ import annotations

import json
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
from graphveil.experiments.show.figure import check_figure
from graphveil.experiments.specs.file import SETTINGS, Fields, packaged, spec_fields
from graphveil.experiments.sweeps.figure import write_figure
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import FOLDER, find_sweep, read_sweep


def sweep(
    name: Annotated[
        str | None, typer.Argument(help="A sweep by name, or a .toml file; without one, all are listed.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", help="Another graph than the sweep names.")] = None,
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
    for several fields at once, like a method with its settings.

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
    given |= {key: value for key, value in {"data": data, "runs": runs}.items() if value is not None}
    chosen = chosen.over(spec_fields(given, "the command"))
    cells = chosen.cells()
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
        whole = {**result.to_dict(), "figure": None if drawn is None else str(drawn)}
        typer.echo(json.dumps(whole, ensure_ascii=False))
    else:
        show(result, drawn)
    if result.interrupted:
        state = f"{len(result.results)} of {len(cells)} cells are finished and kept"
        typer.echo(f"Interrupted: {state}, the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED)


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
