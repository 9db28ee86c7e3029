"""graphveil run: a method on a graph, beside its control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.cli.options import (
    AsJson,
    BackboneName,
    DataName,
    Delta,
    Device,
    Epsilon,
    Gamma,
    LabelEpsilon,
    LevelBudgets,
    LevelCount,
    LevelDistribution,
    LinkEpsilon,
    LinkMechanismName,
    MaxMemory,
    MechanismName,
    MethodName,
    NormBound,
    NormEpsilon,
    RangePair,
    SettingPairs,
    SettingsFile,
    TaskName,
)
from graphveil.errors import InputError
from graphveil.experiments.privacy_words import privacy_sentence
from graphveil.experiments.results import RESULTS, ResultStore
from graphveil.experiments.spec import Spec

if TYPE_CHECKING:
    from graphveil.experiments.result import Result

INTERRUPTED = 130


def run(
    method: MethodName,
    data: DataName,
    epsilon: Epsilon = None,
    delta: Delta = None,
    mechanism: MechanismName = "",
    backbone: BackboneName = "",
    task: TaskName = "node",
    runs: Annotated[int, typer.Option(help="How many runs; run i uses seed S + i for everything.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed S of the first run.")] = 0,
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 1,
    setting: SettingPairs = None,
    settings_file: SettingsFile = None,
    label_epsilon: LabelEpsilon = None,
    link_epsilon: LinkEpsilon = None,
    link_mechanism: LinkMechanismName = "link-rr",
    levels: LevelCount = None,
    budgets: LevelBudgets = None,
    gamma: Gamma = None,
    level_distribution: LevelDistribution = "uniform",
    norm_epsilon: NormEpsilon = None,
    norm_bound: NormBound = None,
    public_range: RangePair = None,
    max_memory: MaxMemory = None,
    device: Device = "auto",
    no_control: Annotated[bool, typer.Option("--no-control", help="Skip control and structure.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Reuse runs that an interrupted call has finished.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a method on a graph: users report, the server learns, and the result stands beside its control.

    Example: graphveil run base --data town --epsilon 2 --runs 5 --jobs 2
    """
    options = {} if public_range is None else {"range": parse_range(public_range)}
    spec = Spec(
        method,
        data,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        backbone=backbone,
        task=task,
        runs=runs,
        seed=seed,
        settings=all_settings(method, settings_file, setting or []),
        data_options=options,
        label_epsilon=label_epsilon,
        link_epsilon=link_epsilon,
        link_mechanism=link_mechanism,
        levels=levels,
        budgets=parse_budgets(budgets),
        gamma=gamma,
        level_distribution=level_distribution,
        norm_epsilon=norm_epsilon,
        norm_bound=norm_bound,
        max_memory=max_memory,
        device=device,
        control=not no_control,
    )
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    spec.check()
    result = watched(spec, jobs, resume)
    keep(result)
    if as_json:
        typer.echo(result.to_json())
    else:
        show(result, Console())
    if result.interrupted:
        typer.echo("Interrupted: what was computed is kept, --resume goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED)


def watched(spec: Spec, jobs: int, resume: bool) -> Result:
    """Run with a progress bar on stderr, keeping every finished run on disk."""
    from graphveil.experiments.runner import parts_of, run_spec
    from graphveil.experiments.store import UnitStore
    from graphveil.settings import settings

    store = UnitStore(settings().cache / "runs.jsonl")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
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
    from graphveil.settings import settings

    ResultStore(settings().cache / RESULTS).add(result)


def show(result: Result, console: Console) -> None:
    """The result as a table, and its verdict in words."""
    fields = result.to_dict()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column(f"{fields['metric']} on {fields['data']}")
    table.add_column("mean", justify="right")
    table.add_column("95% interval", justify="right")
    epsilon = fields["epsilon"]
    name = (
        fields["method"] if epsilon is None else f"{fields['method']}, {fields['mechanism']}, ε = {epsilon:g}"
    )
    table.add_row(name, *numbers(fields))
    if fields["control"]:
        table.add_row("control, ε = 0", *numbers(fields["control"]))
    if fields["structure"]:
        table.add_row(f"structure ({fields['structure']['name']})", *numbers(fields["structure"]))
    if fields["gain"]:
        table.add_row("gain over the control", *numbers(fields["gain"], signed=True))
    console.print(table)
    if fields["verdict"]:
        console.print(fields["verdict"])
    if "also" in fields:
        console.print(norm_line(fields))
    console.print(privacy_sentence(fields["privacy"]))


def norm_line(fields: dict[str, Any]) -> str:
    """How well norms were predicted, beside the control and one guess for everybody."""
    error, control = fields["also"]["norm_error"], fields["control"]
    interval = "" if error["low"] is None else f" ({error['low']:.3g} to {error['high']:.3g})"
    beside = "" if control is None else f", control {control['also']['norm_error']['mean']:.3g}"
    constant = fields["also"]["norm_constant"]["mean"]
    return f"norm: mean absolute error {error['mean']:.3g}{interval}{beside}, constant guess {constant:.3g}"


def numbers(summary: dict[str, Any], signed: bool = False) -> tuple[str, str]:
    """Mean and interval in points."""
    sign = "+" if signed else ""
    mean = f"{100 * summary['mean']:{sign}.1f}"
    if summary["low"] is None:
        return mean, "one run"
    return mean, f"{100 * summary['low']:{sign}.1f} to {100 * summary['high']:{sign}.1f}"


def all_settings(method: str, file: Path | None, pairs: list[str]) -> dict[str, Any]:
    """The settings of a file, if one is given, and over them those of --set."""
    from graphveil.experiments.settings_file import read_settings

    return {**({} if file is None else read_settings(file, method)), **parse_settings(pairs)}


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs, values as numbers, true, false, none or text.

    >>> parse_settings(["epochs=20", "lr=0.1", "activation=relu"])
    {'epochs': 20, 'lr': 0.1, 'activation': 'relu'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set takes KEY=VALUE, got {pair!r}: for example --set epochs=20")
        settings[key.strip()] = parse_value(text.strip())
    return settings


def parse_value(text: str) -> Any:
    """A number, true, false, none, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_budgets(text: str | None) -> tuple[float, ...] | None:
    """E1,E2,… as numbers.

    >>> parse_budgets("0.5,1,2")
    (0.5, 1.0, 2.0)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--budgets takes numbers with commas between them, got {text!r}: for example --budgets 1,2,4"
        ) from None


def parse_range(text: str) -> tuple[float, float]:
    """LOW,HIGH as two numbers."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--range takes LOW,HIGH, two numbers, got {text!r}: for example --range 0,1"
        ) from None
    return low, high
