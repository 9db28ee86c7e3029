"""graphveil run: a method on a graph, beside its control."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from graphveil.cli.console import Console, Description, say, show_table
from graphveil.cli.curve import How, run_budgets
from graphveil.cli.engines import chosen_engine
from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.cli.groups import grouped
from graphveil.cli.interrupts import going_on, interrupted, saying
from graphveil.cli.kept import check_resume, keep, results_file, told
from graphveil.cli.options import AnyVersion, AsJson, CheckpointEvery, EngineName, Jobs, Resume, Workers
from graphveil.cli.parse import parse_numbers
from graphveil.engine.crew import EVERY
from graphveil.errors import InputError
from graphveil.experiments.runs.format import counted
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.result_table import result_sentences, result_table
from graphveil.experiments.runs.runner import parts_of, run_spec
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.specs.spec import Spec


@grouped
def run(
    *,
    asked: Asked,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The budget for features; several, with commas between them, give a table over ε and a curve.",
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs; run i uses seed S + i for everything.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed S of the first run.")] = 0,
    jobs: Jobs = None,
    engine: EngineName = "local",
    workers: Workers = None,
    checkpoint_every: CheckpointEvery = EVERY,
    terms: Terms,
    no_control: Annotated[
        bool,
        typer.Option(
            "--no-control",
            help="Skip what it is compared with: control, structure, no edges, volunteers alone.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to draw the curve over several budgets, .svg or .png; METHOD-DATA-epsE_E.svg in this folder by default."
        ),
    ] = None,
    resume: Resume = True,
    any_version: AnyVersion = False,
    as_json: AsJson = False,
) -> None:
    """Run a method on a graph: users report, the server learns, and the result stands beside its control.

    Finished runs are kept, so the same command goes on where it was interrupted; those of another version of graphveil are
    computed again unless --any-version is given, and all of them with --fresh.

    Example: graphveil run base --data town --epsilon 2 --runs 5 --jobs 2

    Example: graphveil run lpgnn --data town --epsilon 0.5,1,2,4 --out town.svg

    Example: graphveil run base --data town --epsilon 2 --runs 20 --engine ray://10.0.0.7:6379

    Example: graphveil run lpgnn --data SHARDS --epsilon 4 --runs 1 --engine ray --workers 4
    """
    given = spec_of(asked, terms, runs=runs, seed=seed, control=not no_control)
    how = How(jobs, resume, any_version, chosen_engine(engine, workers, jobs, checkpoint_every))
    check_resume(resume, any_version)
    budgets = parse_numbers("epsilon", epsilon)
    if budgets is not None and len(budgets) > 1:
        run_budgets(given, budgets, how, out, as_json)
        return
    if out is not None:
        raise InputError(
            "--out draws a curve over several budgets: give them with commas between them, for example --epsilon 0.5,1,2,4"
        )
    run_one(given if budgets is None else given.having(epsilon=budgets[0]), how, as_json)


def run_one(spec: Spec, how: How, as_json: bool) -> None:
    """Run, keep and tell one experiment."""
    spec.check()
    going = f"every finished run is kept, and {going_on(not how.resume)} from there"
    with saying(f"no run of {spec.method} is finished; {going}"):
        result = watched(spec, how)
    keep(result)
    if as_json:
        say(result.to_json())
    else:
        show(result, Console())
    if result.interrupted:
        state = f"{len(result.units)} of {spec.runs * len(parts_of(spec))} runs, control and structure counted too"
        raise interrupted(f"{state}, are finished and kept; {going_on(not how.resume)} from there")


def watched(spec: Spec, how: How) -> Result:
    """Run with a progress bar on stderr, keeping every finished run on disk; those that were kept before are told."""
    store = UnitStore(results_file(), how.any_version)
    columns = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    computed = 0
    with told(store), Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task(f"{spec.method} on {spec.data}", total=spec.runs * len(parts_of(spec)))
        current = bars.add_task("starting", total=100)

        def watch(_unit: UnitResult, done: int, total: int) -> None:
            nonlocal computed
            computed += 1
            bars.update(whole, completed=done, total=total)

        result = run_spec(
            spec,
            jobs=how.jobs,
            engine=how.engine,
            store=store,
            reuse=how.resume,
            watch=watch,
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )
    if reused := len(result.units) - computed:
        say(f"Reused {counted(reused, 'finished run')}; --fresh computes anew.", err=True)
    return result


def show(result: Result, console: Console) -> None:
    """The result as a table, and its verdict in words."""
    fields = result.to_dict()
    show_table(result_table(fields))
    for sentence in result_sentences(fields):
        console.print(sentence)
