"""graphveil sweep: an experiment over the values of one to three of its fields, as tables and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import interrupted, print_result, resume_words
from graphveil.cli.options import (
    AllRuns,
    AsJson,
    Computing,
    Options,
    SettingPairs,
    parse_settings,
    with_options,
)
from graphveil.cli.studies import run_options, show_study, study_bars
from graphveil.errors import InputError
from graphveil.experiments.experiment_file import SETTINGS, Fields, experiment_fields, packaged
from graphveil.experiments.measures import MEASURES
from graphveil.experiments.runner import run_study
from graphveil.experiments.study import FOLDER, find_sweep, read_sweep
from graphveil.files import FIGURES, check_output
from graphveil.plugins import plain_name


@with_options
def sweep(
    *,
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
    everything: AllRuns = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="One run of few epochs, on the first graph, at the first and the last value of x, to see that it works.",
        ),
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option(
            help=f"What its value is, in place of what the sweep says: {', '.join(MEASURES)}, or FILE.py:NAME.",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="How many runs a cell; as the sweep says by default.")
    ] = None,
    computing: Annotated[Computing, Options(without=("checkpoint_every",))],
    setting: SettingPairs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to draw the figure, .svg or .png; NAME.svg in this folder by default."),
    ] = None,
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
    given: Fields = {SETTINGS: parse_settings(setting)} if setting else {}
    given |= {} if runs is None else {"runs": runs}
    chosen = chosen.with_fields(experiment_fields(given, "the command")).on(data or [])
    study = chosen.prepare(everything=everything, quick=quick)
    if quick and runs is not None:
        raise InputError("--quick takes one run: leave out one of --quick and --runs")
    options = run_options(computing)
    options.engine.check_units("a sweep")
    besides = "" if measure is None else f"-{plain_name(measure).replace(':', '-')}"
    file = check_output(out or Path(f"{study.name}{besides}.svg"), FIGURES, "--out")
    with study_bars() as bars:
        result = run_study(study, options, bars)
    show_study(result, file, as_json)
    if result.interrupted:
        todo = sum(not cell.left_out for cell in study.cells)
        kept = f"kept, {resume_words(options.fresh)} from there"
        if study.measure.read is None:
            kept = "computed anew by the same command"
        raise interrupted(f"{len(result.finished)} of {todo} cells are finished and {kept}")
