"""graphveil sweep: an experiment over the values of one to three of its fields, as tables and a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from graphveil.cli.console import (
    GOES_ON,
    Console,
    Description,
    check_resume,
    going_on,
    interrupted,
    keep,
    say,
    saying,
    show_table,
    told,
)
from graphveil.cli.options import (
    AnyVersion,
    AsJson,
    EngineName,
    Jobs,
    Resume,
    SettingPairs,
    Workers,
    chosen_engine,
    parse_settings,
)
from graphveil.engine.engine import HERE, Engine
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.experiment_file import SETTINGS, Fields, experiment_fields, packaged
from graphveil.experiments.measures import MEASURES, Apart, Measure, all_apart
from graphveil.experiments.study import FOLDER, ReadySweep, find_sweep, read_sweep, ready
from graphveil.experiments.study_result import SweepResult, run_ready
from graphveil.experiments.study_runner import Cells, run_cells, unit_count
from graphveil.experiments.table import Table
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.files import FIGURES, check_output
from graphveil.plugins import plain_name
from graphveil.statistics import SPREADS

COLUMNS = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def watched_cells(
    specs: Sequence[Experiment],
    *,
    jobs: int | None,
    engine: Engine = HERE,
    fresh: bool = False,
    skip: tuple[Part, ...] = (),
    tolerant: bool = False,
    kept: bool = True,
    alone: Sequence[bool] = (),
    any_version: bool = False,
) -> Cells:
    """Run experiments with a progress bar on stderr, keeping every finished run and, if it is to be kept, every result."""
    store = UnitStore(results_file(), any_version)
    with (
        saying(GOES_ON),
        told(store),
        Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars,
    ):
        whole = bars.add_task("starting", total=unit_count(specs, skip))
        current = bars.add_task("starting", total=100, visible=engine.inside(jobs))
        return run_cells(
            specs,
            store=store,
            jobs=jobs,
            engine=engine,
            fresh=fresh,
            skip=skip,
            tolerant=tolerant,
            alone=alone,
            keep=keep if kept else lambda _: None,
            watch=lambda spec, done: bars.update(
                whole, description=f"{spec.method} on {spec.data}", completed=done
            ),
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )


def watched_apart(wanted: Sequence[tuple[Measure, Experiment]]) -> tuple[list[Apart], bool]:
    """Measure what needs no learning, with a progress bar on stderr; and whether that was interrupted."""
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task("starting", total=len(wanted))
        return all_apart(
            wanted,
            watch=lambda spec, done: bars.update(
                whole, description=f"{spec.method} on {spec.data}", completed=done
            ),
        )


def run_sweep(
    ready: ReadySweep,
    *,
    jobs: int | None,
    engine: Engine = HERE,
    fresh: bool = False,
    tolerant: bool = False,
    any_version: bool = False,
) -> SweepResult:
    """Run all cells with a progress bar."""

    def cells(
        specs: Sequence[Experiment], skip: tuple[Part, ...], kept: bool, alone: Sequence[bool]
    ) -> Cells:
        return watched_cells(
            specs,
            jobs=jobs,
            engine=engine,
            fresh=fresh,
            skip=skip,
            tolerant=tolerant,
            kept=kept,
            alone=alone,
            any_version=any_version,
        )

    return run_ready(ready, cells, watched_apart)


def show_sweep(result: SweepResult, quick: bool = False) -> None:
    """A table for each panel, in the document's form too where it draws a spread of runs, and what else was measured."""
    for panel in result.panels:
        say(f"{panel.sweep.title}: {panel.metric}" if panel.readings else panel.sweep.title)
        show_table(Table.of(panel.head(), panel.rows()))
        for note in panel.notes:
            say(note)
        if panel.sweep.spread and not quick:
            say(f"±: {SPREADS[panel.sweep.spread].words}, as the document draws it")
            show_table(Table.of([panel.sweep.axes[0].label, *panel.sweep.lines], panel.spread_rows()))
        for name in panel.sweep.also:
            say(f"{name.replace('_', ' ')} (%)")
            show_table(Table.of([panel.sweep.axes[0].label, *panel.sweep.lines], panel.also_rows(name)))


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
    jobs: Jobs = None,
    engine: EngineName = "local",
    workers: Workers = None,
    setting: SettingPairs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to draw the figure, .svg or .png; NAME.svg in this folder by default."),
    ] = None,
    resume: Resume = True,
    any_version: AnyVersion = False,
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
        listed(as_json)
        return
    chosen = find_sweep(name)
    if measure is not None:
        chosen = chosen.measuring(measure)
    given: Fields = {SETTINGS: parse_settings(setting)} if setting else {}
    given |= {} if runs is None else {"runs": runs}
    chosen = chosen.over(experiment_fields(given, "the command")).on(data or chosen.graphs)
    asked = ready(chosen, everything=everything, quick=quick)
    if quick and runs is not None:
        raise InputError("--quick takes one run: leave out one of --quick and --runs")
    computing = chosen_engine(engine, workers, jobs)
    computing.check_units("a sweep")
    check_resume(resume, any_version)
    besides = "" if measure is None else f"-{plain_name(measure).replace(':', '-')}"
    file = check_output(out or Path(f"{chosen.name}{besides}.svg"), FIGURES, "--out")
    result = run_sweep(asked, jobs=jobs, engine=computing, fresh=not resume, any_version=any_version)
    drawn = None if result.interrupted else file
    if drawn is not None:
        result.chart.write(drawn)
    if as_json:
        more = {"figure": None if drawn is None else str(drawn), **asked.to_dict()}
        say(json.dumps({**result.to_dict(), **more}, ensure_ascii=False))
    else:
        show_sweep(result, quick)
        if drawn is not None:
            say(f"The figure is in {drawn}.")
        for told in asked.remarks():
            say(told)
    if result.interrupted:
        state = f"{len(result.readings)} of {len(asked.cells)} cells are finished"
        kept = (
            "computed anew by the same command"
            if chosen.measure.read is None
            else f"kept, {going_on(not resume)} from there"
        )
        raise interrupted(f"{state} and {kept}")


def listed(as_json: bool) -> None:
    """The sweeps that come with graphveil."""
    titles = {name: read_sweep(file).title for name, file in packaged(FOLDER).items()}
    if as_json:
        say(json.dumps({"sweeps": titles}, ensure_ascii=False))
        return
    for name, title in titles.items():
        say(f"{name:<22}{title}")
