"""graphveil run: a method on a graph, beside its control; over several budgets as a table and a curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import (
    Console,
    interrupted,
    keep_result,
    on_interrupt,
    progress_bars,
    resume_words,
    say,
    say_reused,
    show_table,
)
from graphveil.cli.options import AsJson, Computing, Options, default_file, parse_numbers, with_options
from graphveil.cli.sweep import run_sweep
from graphveil.engine.engine import HERE, Engine
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.result import Result, result_sentences, result_table
from graphveil.experiments.runner import parts_of, run_experiment
from graphveil.experiments.study import Axis, ReadySweep, Sweep
from graphveil.experiments.study_result import SweepResult
from graphveil.experiments.table import Table
from graphveil.experiments.unit import UnitResult
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.files import FIGURES, check_output
from graphveil.methods.terms import options_of
from graphveil.number_format import budget, counted, gained
from graphveil.statistics import Summary

EPSILON = "epsilon"


@dataclass(frozen=True)
class How:
    """How runs are computed, and which are reused."""

    jobs: int | None = None
    resume: bool = True
    any_version: bool = False
    engine: Engine = HERE


def run_budgets(
    spec: Experiment, budgets: Sequence[float], how: How, out: Path | None, as_json: bool
) -> None:
    """Run, keep, draw and tell an experiment at several budgets."""
    how.engine.check_units("a run at several budgets")
    if twice := [each for place, each in enumerate(budgets) if each in budgets[:place]]:
        raise InputError(f"--epsilon names {twice[0]:g} twice: leave one out")
    for each in budgets:
        spec.having(epsilon=each).check()
    file = check_output(
        out or default_file(spec.having(epsilon=budgets[0]), ".svg", budgets), FIGURES, "--out"
    )
    sweep = over_budgets(spec, budgets)
    ready = ReadySweep(sweep, tuple(sweep.cells()))
    result = run_sweep(
        ready, jobs=how.jobs, engine=how.engine, fresh=not how.resume, any_version=how.any_version
    )
    drawn = None if result.interrupted else file
    if drawn is not None:
        result.chart.write(drawn)
    if as_json:
        figure = None if drawn is None else str(drawn)
        say(json.dumps({**result.to_dict(), "figure": figure}, ensure_ascii=False))
    else:
        show_budgets(result, drawn)
    if result.interrupted:
        state = f"{len(result.results)} of {len(budgets)} budgets are finished"
        raise interrupted(
            f"{state}; every finished run is kept, and {resume_words(not how.resume)} from there"
        )


def over_budgets(spec: Experiment, budgets: Sequence[float]) -> Sweep:
    """The sweep of an experiment over its budget for features."""
    own = ("method", "data", "task", "backbone", "runs", "seed", "settings", "data_options", "control")
    base = {**{name: getattr(spec, name) for name in own}, **options_of(spec)}
    del base[EPSILON]
    values = tuple(budgets)
    axis = Axis(EPSILON, values, "ε", tuple({EPSILON: value} for value in values))
    return Sweep("run", f"{spec.method} on {spec.data}, {spec.budgets.mechanism}", base, (axis,))


def show_budgets(result: SweepResult, drawn: Path | None) -> None:
    """A row for each budget with what it gains, the verdicts, and where the curve is."""
    if not result.results:
        return
    say(f"{result.sweep.title}: {result.metric}, with 95% intervals")
    head, rows = result.head(), result.rows()
    for title, column in _gains(result):
        if any(column):
            head.append(title)
            rows = [[*row, gained(each)] for row, each in zip(rows, column, strict=True)]
    show_table(Table.of(head, rows))
    done = [found for _, found in sorted(result.results.items())]
    for found in done:
        if found.verdict:
            say(found.verdict)
    if (privacy := done[-1].privacy) is not None:
        at = budget(done[-1].epsilon)
        say(f"Each budget is asked for in runs of its own. At {at}: {privacy.sentence}")
    if drawn is not None:
        say(f"The curve is in {drawn}.")


def _gains(result: SweepResult) -> list[tuple[str, list[Summary | None]]]:
    """What each budget gains over the control and over structure, where it is finished."""
    found = [result.results.get((x, 0, 0)) for x in range(len(result.sweep.axes[0].values))]
    return [
        ("gain over the control", [None if each is None else each.gain for each in found]),
        ("gain over structure", [None if each is None else each.gain_over_structure for each in found]),
    ]


@with_options
def run(
    *,
    experiment: Annotated[Experiment, Options(default={"runs": 5})],
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The budget for features; several, with commas between them, give a table over ε and a curve.",
        ),
    ] = None,
    computing: Computing,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to draw the curve over several budgets, .svg or .png; METHOD-DATA-epsE_E.svg in this folder by default."
        ),
    ] = None,
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
    how = How(computing.jobs, computing.resume, computing.any_version, computing.resolved_engine)
    budgets = parse_numbers("epsilon", epsilon)
    if budgets is not None and len(budgets) > 1:
        run_budgets(experiment, budgets, how, out, as_json)
        return
    if out is not None:
        raise InputError(
            "--out draws a curve over several budgets: give them with commas between them, for example --epsilon 0.5,1,2,4"
        )
    run_one(experiment if budgets is None else experiment.having(epsilon=budgets[0]), how, as_json)


def run_one(spec: Experiment, how: How, as_json: bool) -> None:
    """Run, keep and tell one experiment."""
    spec.check()
    going = f"every finished run is kept, and {resume_words(not how.resume)} from there"
    with on_interrupt(f"no run of {spec.method} is finished; {going}"):
        result = watched(spec, how)
    keep_result(result)
    if as_json:
        say(result.to_json())
    else:
        show(result, Console())
    if result.interrupted:
        state = f"{len(result.units)} of {spec.runs * len(parts_of(spec))} runs, control and structure counted too"
        raise interrupted(f"{state}, are finished and kept; {resume_words(not how.resume)} from there")


def watched(spec: Experiment, how: How) -> Result:
    """Run with a progress bar on stderr, keeping every finished run on disk; those that were kept before are told."""
    store = UnitStore(results_file(), how.any_version)
    computed, total = 0, spec.runs * len(parts_of(spec))
    with say_reused(store), progress_bars(f"{spec.method} on {spec.data}", total) as bars:

        def watch(_unit: UnitResult, done: int, total: int) -> None:
            nonlocal computed
            computed += 1
            bars.count(done, total)

        result = run_experiment(
            spec,
            jobs=how.jobs,
            engine=how.engine,
            store=store,
            reuse=how.resume,
            watch=watch,
            inside=bars.step,
        )
    if reused := len(result.units) - computed:
        say(f"Reused {counted(reused, 'finished run')}; --fresh computes anew.", err=True)
    return result


def show(result: Result, console: Console) -> None:
    """The result as a table, and its verdict in words."""
    show_table(result_table(result))
    for sentence in result_sentences(result):
        console.print(sentence)
