"""graphveil run and sweep: experiments with their controls, over budgets and over other fields; and what all commands share that run studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

from graphveil.cli.console import (
    RUNS_KEPT,
    Bars,
    interrupted,
    on_interrupt,
    one_bar,
    print_result,
    progress_bars,
    resume_words,
    say,
    say_reused,
)
from graphveil.cli.options import (
    NUMBERS,
    AllRuns,
    AsJson,
    Computing,
    Options,
    SettingPairs,
    default_file,
)
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import SETTINGS, Fields, experiment_fields, packaged
from graphveil.experiments.measures import MEASURES
from graphveil.experiments.page import Analysis, Section
from graphveil.experiments.result import result_sentences, result_table
from graphveil.experiments.runner import RunOptions, StudyWatcher, run_experiment, run_study, unit_count
from graphveil.experiments.study import FOLDER, Axis, Cell, Study, find_sweep, read_sweep
from graphveil.experiments.study_result import BUDGETS
from graphveil.experiments.table import Table
from graphveil.experiments.unit import UnitResult
from graphveil.files import FIGURES, PAGES, check_output
from graphveil.methods.job import Progress
from graphveil.methods.terms import option
from graphveil.number_format import counted
from graphveil.plugins import plain_name

SomeAnalysis = TypeVar("SomeAnalysis", bound=Analysis)


class BarWatcher(StudyWatcher):
    """Shows bars of how far experiments are, and counts the units that are computed."""

    bars: Bars

    def __init__(self) -> None:
        self.computed = 0
        self.reused: list[str] = []

    def begin(self, experiment: Experiment, done: int, total: int) -> None:
        self.bars.count(done, total, f"{experiment.method} on {experiment.data}")

    def add(self, experiment: Experiment, unit: UnitResult, done: int, total: int) -> None:
        self.computed += 1
        self.begin(experiment, done, total)

    def end(self, sentences: Sequence[str]) -> None:
        self.reused += sentences


@contextmanager
def study_bars(sentence: str = RUNS_KEPT) -> Iterator[BarWatcher]:
    """Show bars on stderr until the studies within are run, and then what was reused; an interrupt ends the command with a sentence."""
    watcher = BarWatcher()
    with on_interrupt(sentence), say_reused(lambda: watcher.reused), progress_bars() as bars:
        watcher.bars, watcher.inside = bars, bars.step
        yield watcher


def run_options(computing: Computing, *, tolerant: bool = False) -> RunOptions:
    """Return how studies are run, as the options of a command say it."""
    return RunOptions(
        computing.jobs,
        computing.resolved_engine,
        fresh=not computing.resume,
        any_version=computing.any_version,
        tolerant=tolerant,
    )


def section_parts(section: Section) -> list[Table | str]:
    """Return a table below its title, and what is to be said about it."""
    table = [] if section.table is None else [section.table]
    return [section.title, *section.text, *table, *section.notes]


def show_study(
    study: Study,
    options: RunOptions,
    file: Path,
    as_json: bool,
    *,
    drawn: str = "figure",
    cells: str = "cells",
) -> None:
    """Run a study, draw it to a file, and print all that came of it; an interrupted one ends the command.

    Parameters
    ----------
    study
        The study, prepared.
    options
        How it is run.
    file
        Where it is drawn: .svg or .png.
    as_json
        Whether to print one JSON object.
    drawn, cells
        The words for the picture and for the cells.
    """
    with study_bars() as bars:
        result = run_study(study, options, bars)
    figure = None if result.interrupted else str(file)
    shown = [part for section in result.sections for part in section_parts(section)]
    if figure:
        result.chart.write(file)
        shown.append(f"The {drawn} is in {file}.")
    print_result({**result.to_dict(), "figure": figure}, as_json, *shown, *study.remarks)
    if result.interrupted:
        todo = sum(not cell.left_out for cell in study.cells)
        kept = f"kept, {resume_words(options.fresh)} from there"
        if study.measure.read is None:
            kept = "computed anew by the same command"
        raise interrupted(f"{len(result.finished)} of {todo} {cells} are finished and {kept}")


def show_analysis(
    run: Callable[[Progress], SomeAnalysis], as_json: bool, out: Path | None = None, *, drawn: bool = False
) -> SomeAnalysis:
    """Run an analysis below a progress bar, write its page or figure where a file is named, and print it.

    Parameters
    ----------
    run
        Runs it, and tells its progress.
    as_json
        Whether to print one JSON object.
    out
        Where to write its page (.html) or its figure.
    drawn
        Whether its JSON says where its figure and its page are.
    """
    with one_bar() as progress:
        result = run(progress)
    kind = "page" if out is not None and out.suffix in PAGES else "figure"
    files = {each: str(out) if out and each == kind else None for each in ("figure", "page")} if drawn else {}
    shown: list[Table | str] = [result.title]
    shown += [section.table for section in result.sections if section.table is not None]
    shown += [result.headline, *(text for section in result.sections for text in section.text)]
    if out is not None:
        result.write(out)
        shown.append(f"The {kind} is in {out}.")
    print_result({**result.to_dict(), **files}, as_json, *shown)
    return result


EPSILON = "epsilon"


def run(
    *,
    experiment: Annotated[Experiment, Options(default={"runs": 5})],
    epsilon: NUMBERS = option(
        None, "The budget for features; several, with commas between them, give a table over ε and a curve."
    ),
    computing: Computing,
    out: Path | None = option(
        None,
        "Where to draw the curve over several budgets, .svg or .png; METHOD-DATA-epsE_E.svg in this folder by default.",
    ),
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
    if epsilon is not None and len(epsilon) > 1:
        run_budgets(experiment, epsilon, options, out, as_json)
        return
    if out is not None:
        raise InputError("--out draws a curve over several budgets: give some, for example --epsilon 0.5,1,2")
    run_one(experiment if epsilon is None else experiment.having(epsilon=epsilon[0]), options, as_json)


def run_one(experiment: Experiment, options: RunOptions, as_json: bool) -> None:
    """Run and show one experiment.

    Parameters
    ----------
    experiment
        The experiment, resolved.
    options
        How it is run.
    as_json
        Whether to print one JSON object.
    """
    experiment.check()
    goes_on = resume_words(options.fresh)
    nothing = (
        f"no run of {experiment.method} is finished; every finished run is kept, and {goes_on} from there"
    )
    with study_bars(nothing) as bars:
        result = run_experiment(experiment, options, bars)
    if reused := len(result.units) - bars.computed:
        say(f"Reused {counted(reused, 'finished run')}; --fresh computes anew.", err=True)
    print_result(result.to_dict(), as_json, result_table(result), *result_sentences(result))
    if result.interrupted:
        state = f"{len(result.units)} of {unit_count(experiment)} runs, control and structure counted too"
        raise interrupted(f"{state}, are finished and kept; {goes_on} from there")


def run_budgets(
    experiment: Experiment, budgets: Sequence[float], options: RunOptions, out: Path | None, as_json: bool
) -> None:
    """Run, draw and show an experiment at several budgets.

    Parameters
    ----------
    experiment
        The experiment, resolved.
    budgets
        Its budgets for features.
    options
        How it is run.
    out
        Where to draw the curve; by default a file that is named after the experiment.
    as_json
        Whether to print one JSON object.
    """
    options.engine.check_units("a run at several budgets")
    if twice := [each for place, each in enumerate(budgets) if each in budgets[:place]]:
        raise InputError(f"--epsilon names {twice[0]:g} twice: leave one out")
    study = budget_study(experiment, budgets)
    for cell in study.cells:
        cell.experiment.check()
    default = default_file(study.cells[0].experiment, ".svg", budgets)
    file = check_output(out or default, FIGURES, "--out")
    show_study(study, options, file, as_json, drawn="curve", cells="budgets")


def budget_study(experiment: Experiment, budgets: Sequence[float]) -> Study:
    """Return the study of an experiment over its budget for features."""
    axis = Axis(EPSILON, "ε", tuple(budgets), frozenset({EPSILON}))
    cells = tuple(
        Cell(experiment.having(epsilon=value), (axis.name(value),), (place,))
        for place, value in enumerate(budgets)
    )
    title = f"{experiment.method} on {experiment.data}, {experiment.budgets.mechanism}"
    return Study("run", title, cells, (axis,), BUDGETS)


def sweep(
    *,
    name: str | None = option(
        None, "A sweep by name, or a .toml file; without one, all are listed.", positional=True
    ),
    data: list[str] | None = option(
        None, "Another graph than the sweep names; of a sweep over graphs only these, may be repeated."
    ),
    everything: AllRuns = False,
    quick: bool = option(
        False,
        "One run of few epochs, on the first graph, at the first and the last value of x, to see that it works.",
        "--quick",
    ),
    measure: str | None = option(
        None, f"What its value is, in place of what the sweep says: {', '.join(MEASURES)}, or FILE.py:NAME."
    ),
    runs: int | None = option(None, "How many runs a cell; as the sweep says by default."),
    computing: Annotated[Computing, Options(without=("checkpoint_every",))],
    setting: SettingPairs,
    out: Path | None = option(
        None, "Where to draw the figure, .svg or .png; NAME.svg in this folder by default."
    ),
    as_json: AsJson = False,
) -> None:
    """Run an experiment over the values of one to three of its fields: tables, and a figure with controls and structure.

    A file has a title, the fields of the experiment below [base], and one to three [[axes]], each with a field (or
    settings.KEY) and its values: the first is x, the second gives lines, the third panels. An axis may have a label and choices instead: names
    for several fields at once, like a method with its settings; a line that sets the field of x to "none" is flat.

    Its value is the score, or any other measure that the file names as `measure`, or --measure: then controls and structure are there where
    the measure has them, and where it needs only some parts of a run, nothing else is run and `graphveil results` lists nothing of it.
    Seconds and memory are measured one run after the other. Attacks and rankings learn nothing and are computed anew each time.

    Where every user answers every value of a large graph, a cell is one run of 100 epochs, and that is said, unless --all is given.
    Of a sweep over graphs, those that are not on this machine are left out, and that is said.

    Finished runs are kept, so the same command goes on where it was interrupted; those of another version of graphveil are
    computed again unless --any-version is given.

    Example: graphveil sweep ppgnn-hops --runs 3 --jobs 2 --out hops.svg

    Example: graphveil sweep upgnet-epsilon --quick

    Example: graphveil sweep ppgnn-hops --measure seconds --runs 1

    Example: graphveil sweep my-sweep.toml --fresh

    Example: graphveil sweep ppgnn-hops --engine ray://auto
    """
    if name is None:
        titles = {name: read_sweep(file).title for name, file in packaged(FOLDER).items()}
        print_result({"sweeps": titles}, as_json, *(f"{name:<22}{title}" for name, title in titles.items()))
        return
    chosen = find_sweep(name)
    if measure is not None:
        chosen = chosen.with_measure(measure)
    given: Fields = {SETTINGS: setting} if setting else {}
    given |= {} if runs is None else {"runs": runs}
    chosen = chosen.with_fields(experiment_fields(given, "the command")).on(data or [])
    study = chosen.prepare(everything=everything, quick=quick)
    if quick and runs is not None:
        raise InputError("--quick takes one run: leave out one of --quick and --runs")
    options = run_options(computing)
    options.engine.check_units("a sweep")
    besides = "" if measure is None else f"-{plain_name(measure).replace(':', '-')}"
    file = check_output(out or Path(f"{study.name}{besides}.svg"), FIGURES, "--out")
    show_study(study, options, file, as_json)
