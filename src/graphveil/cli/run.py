"""graphveil run: a method on a graph, beside its control."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.cli.curve import How, run_budgets
from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.cli.groups import grouped
from graphveil.cli.interrupts import GOES_ON, going_on, interrupted, saying
from graphveil.cli.kept import check_resume, keep, results_file, told
from graphveil.cli.options import AnyVersion, AsJson, Resume
from graphveil.cli.parse import parse_numbers
from graphveil.errors import InputError
from graphveil.experiments.runs.format import budget, counted, low_to_high, percent, points, rounded
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.runner import parts_of, run_spec
from graphveil.experiments.runs.statistics import Summary
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
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 1,
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
    """
    given = spec_of(asked, terms, runs=runs, seed=seed, control=not no_control)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    check_resume(resume, any_version)
    how = How(jobs, resume, any_version)
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
    with saying(f"no run of {spec.method} is finished; {GOES_ON}"):
        result = watched(spec, how)
    keep(result)
    if as_json:
        typer.echo(result.to_json())
    else:
        show(result, Console())
    if result.interrupted:
        state = f"{len(result.units)} of {spec.runs * len(parts_of(spec))} runs, control and structure counted too"
        raise interrupted(f"{state}, are finished and kept; {going_on(not how.resume)} from there")


def watched(spec: Spec, how: How) -> Result:
    """Run with a progress bar on stderr, keeping every finished run on disk; those that were kept before are told."""
    store = UnitStore(results_file(), how.any_version)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
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
            store=store,
            reuse=how.resume,
            watch=watch,
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )
    if reused := len(result.units) - computed:
        typer.echo(f"Reused {counted(reused, 'finished run')}; --fresh computes anew.", err=True)
    return result


def show(result: Result, console: Console) -> None:
    """The result as a table, and its verdict in words."""
    fields = result.to_dict()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column(f"{fields['metric']} on {fields['data']}")
    table.add_column("mean", justify="right")
    table.add_column("95% interval", justify="right")
    epsilon = fields["epsilon"]
    name = fields["method"]
    if epsilon is not None:
        name = f"{name}, {fields['mechanism']}, {_budget(fields)}"
    table.add_row(name, *numbers(fields))
    if fields["control"]:
        table.add_row("control, ε = 0", *numbers(fields["control"]))
    if fields["structure"]:
        table.add_row(f"structure ({fields['structure']['name']})", *numbers(fields["structure"]))
    if fields["gain"]:
        table.add_row("gain over the control", *numbers(fields["gain"], signed=True))
    if "edgeless" in fields:
        some = fields["also"].get("links_public", {"mean": 0})["mean"] > 0
        same, other = ("with public links alone", "public links") if some else ("without edges", "no edges")
        table.add_row(f"the same {same}", *numbers(fields["edgeless"]))
        table.add_row(f"gain over {other}", *numbers(fields["gain_over_edgeless"], signed=True))
    if "unasked" in fields:
        table.add_row("the same with volunteers alone", *numbers(fields["unasked"]))
        table.add_row("gain over volunteers alone", *numbers(fields["gain_over_unasked"], signed=True))
    if fields["gain_over_structure"]:
        table.add_row("gain over structure", *numbers(fields["gain_over_structure"], signed=True))
    console.print(table)
    if fields["verdict"]:
        console.print(fields["verdict"])
    if "norm_error" in fields.get("also", {}):
        console.print(norm_line(fields))
    if "links_kept" in fields.get("also", {}):
        console.print(links_line(fields["also"]))
    if fields["answered"]["answered"] < fields["answered"]["asked"]:
        console.print(turnout_line(fields))
    if fields["privacy"] is not None:
        console.print(Privacy.model_validate(fields["privacy"]).sentence)


def _budget(fields: dict[str, Any]) -> str:
    """The ε of a result; where users choose a level, from the strictest to the most relaxed."""
    features = (fields["privacy"] or {}).get("features") or {}
    levels = features.get("per_level")
    return f"{budget(levels[0])} to {levels[-1]:g} by level" if levels else budget(fields["epsilon"])


def links_line(also: dict[str, Any]) -> str:
    """How many pairs the private graph has, and what is known of the others."""
    kept, left_out = (also[name]["mean"] for name in ("links_kept", "links_left_out"))
    if "links_public" in also:
        public = also["links_public"]["mean"]
        return f"private graph: {kept:,.0f} pairs, {public:,.0f} of them public links"
    return f"private graph: {kept:,.0f} pairs; {left_out:,.1f} links are expected among reported pairs that were left out"


def norm_line(fields: dict[str, Any]) -> str:
    """How well norms were predicted, beside the control and one guess for everybody."""
    error, control = fields["also"]["norm_error"], fields["control"]
    interval = "" if error["low"] is None else f" ({rounded(error['low'])} to {rounded(error['high'])})"
    beside = "" if control is None else f", control {rounded(control['also']['norm_error']['mean'])}"
    constant = rounded(fields["also"]["norm_constant"]["mean"])
    return f"norm: mean absolute error {rounded(error['mean'])}{interval}{beside}, constant guess {constant}"


def turnout_line(fields: dict[str, Any]) -> str:
    """Who answered, and how they differ from all."""
    asked, answered, also = fields["answered"]["asked"], fields["answered"]["answered"], fields["also"]
    degrees = percent(also["degree_bias"]["mean"], "+.1f")
    # Where users have several labels each, there is no class to differ by.
    differ = f"their links differ from everybody's by {degrees}"
    if "class_bias" in also:
        differ = f"their classes differ from everybody's by {percent(also['class_bias']['mean'])}, their links by {degrees}"
    return f"{answered:,} of {asked:,} users who were asked answered, and all were charged; {differ}"


def numbers(fields: dict[str, Any], signed: bool = False) -> tuple[str, str]:
    """Mean and interval in points."""
    summary = Summary(fields["mean"], fields["low"], fields["high"])
    return points(summary.mean, signed), low_to_high(summary, signed)
