"""graphveil run: a method on a graph, beside its control."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.cli.groups import grouped
from graphveil.cli.kept import results_file, told
from graphveil.cli.options import AnyVersion, AsJson
from graphveil.errors import InputError
from graphveil.experiments.runs.records import ResultStore
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.result_table import result_rows, result_sentences
from graphveil.experiments.runs.runner import parts_of, run_spec
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.specs.spec import Spec

INTERRUPTED = 130


@grouped
def run(
    *,
    asked: Asked,
    runs: Annotated[int, typer.Option(help="How many runs; run i uses seed S + i for everything.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed S of the first run.")] = 0,
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 1,
    terms: Terms,
    no_control: Annotated[
        bool,
        typer.Option(
            "--no-control",
            help="Skip what it is compared with: control, structure, no edges, volunteers alone.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Reuse runs that an interrupted call has finished.")
    ] = False,
    any_version: AnyVersion = False,
    as_json: AsJson = False,
) -> None:
    """Run a method on a graph: users report, the server learns, and the result stands beside its control.

    Example: graphveil run base --data town --epsilon 2 --runs 5 --jobs 2
    """
    spec = spec_of(
        asked,
        terms,
        runs=runs,
        seed=seed,
        control=not no_control,
    )
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    if any_version and not resume:
        raise InputError("--any-version has no meaning where nothing is reused: give --resume too")
    spec.check()
    result = watched(spec, jobs, resume, any_version)
    keep(result)
    if as_json:
        typer.echo(result.to_json())
    else:
        show(result, Console())
    if result.interrupted:
        typer.echo("Interrupted: what was computed is kept, --resume goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED)


def watched(spec: Spec, jobs: int, resume: bool, any_version: bool) -> Result:
    """Run with a progress bar on stderr, keeping every finished run on disk."""
    store = UnitStore(results_file(), any_version)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with told(store), Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task(f"{spec.method} on {spec.data}", total=spec.runs * len(parts_of(spec)))
        current = bars.add_task("starting", total=100)
        return run_spec(
            spec,
            jobs=jobs,
            store=store,
            reuse=resume,
            watch=lambda unit, done, total: bars.update(whole, completed=done, total=total),
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )


def keep(result: Result) -> None:
    """Add the result to those that `graphveil report` shows."""
    ResultStore(results_file()).add(result)


def show(result: Result, console: Console) -> None:
    """The result as a table, and its verdict in words."""
    fields = result.to_dict()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    head, *rows = result_rows(fields)
    for place, title in enumerate(head):
        table.add_column(title, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for sentence in result_sentences(fields):
        console.print(sentence)
