"""graphveil run: a method on a graph, beside its control; over several budgets as a table and a curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import Console, interrupted, resume_words, say, show_table
from graphveil.cli.options import AsJson, Computing, Options, default_file, parse_numbers, with_options
from graphveil.cli.studies import run_options, show_study, study_bars
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.result import result_sentences, result_table
from graphveil.experiments.runner import RunOptions, run_experiment, run_study, unit_count
from graphveil.experiments.study import Axis, Cell, Study
from graphveil.experiments.study_result import BUDGETS
from graphveil.files import FIGURES, check_output
from graphveil.number_format import counted

EPSILON = "epsilon"


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
    options = run_options(computing)
    budgets = parse_numbers("epsilon", epsilon)
    if budgets is not None and len(budgets) > 1:
        run_budgets(experiment, budgets, options, out, as_json)
        return
    if out is not None:
        raise InputError(
            "--out draws a curve over several budgets: give them with commas between them, for example --epsilon 0.5,1,2,4"
        )
    run_one(experiment if budgets is None else experiment.having(epsilon=budgets[0]), options, as_json)


def run_one(experiment: Experiment, options: RunOptions, as_json: bool) -> None:
    """Run and show one experiment."""
    experiment.check()
    goes_on = resume_words(options.fresh)
    nothing = (
        f"no run of {experiment.method} is finished; every finished run is kept, and {goes_on} from there"
    )
    with study_bars(nothing) as bars:
        result = run_experiment(experiment, options, bars)
    if reused := len(result.units) - bars.computed:
        say(f"Reused {counted(reused, 'finished run')}; --fresh computes anew.", err=True)
    if as_json:
        say(result.to_json())
    else:
        console = Console()
        show_table(result_table(result))
        for sentence in result_sentences(result):
            console.print(sentence)
    if result.interrupted:
        state = (
            f"{len(result.units)} of {unit_count(experiment)} runs, control and structure counted too, are"
        )
        raise interrupted(f"{state} finished and kept; {goes_on} from there")


def run_budgets(
    experiment: Experiment, budgets: Sequence[float], options: RunOptions, out: Path | None, as_json: bool
) -> None:
    """Run, draw and show an experiment at several budgets."""
    options.engine.check_units("a run at several budgets")
    if twice := [each for place, each in enumerate(budgets) if each in budgets[:place]]:
        raise InputError(f"--epsilon names {twice[0]:g} twice: leave one out")
    study = budget_study(experiment, budgets)
    for cell in study.cells:
        cell.experiment.check()
    default = default_file(study.cells[0].experiment, ".svg", budgets)
    file = check_output(out or default, FIGURES, "--out")
    with study_bars() as bars:
        result = run_study(study, options, bars)
    show_study(result, file, as_json, "curve")
    if result.interrupted:
        state = f"{len(result.finished)} of {len(budgets)} budgets are finished"
        goes_on = resume_words(options.fresh)
        raise interrupted(f"{state}; every finished run is kept, and {goes_on} from there")


def budget_study(experiment: Experiment, budgets: Sequence[float]) -> Study:
    """Return the study of an experiment over its budget for features."""
    axis = Axis(EPSILON, "ε", tuple(budgets), frozenset({EPSILON}))
    cells = tuple(
        Cell(experiment.having(epsilon=value), (axis.name(value),), (place,))
        for place, value in enumerate(budgets)
    )
    title = f"{experiment.method} on {experiment.data}, {experiment.budgets.mechanism}"
    return Study("run", title, cells, (axis,), BUDGETS)
