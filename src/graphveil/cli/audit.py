"""graphveil audit: does a mechanism keep what it claims?"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from graphveil.audit import audit as audit_mechanism
from graphveil.audit.exact_text import exact_epsilon
from graphveil.audit.examine import Audit
from graphveil.audit.findings import rounded_up
from graphveil.audit.load import load_mechanism
from graphveil.channels.words import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms.registry import check_budget, check_dims, entry, load_entry, names
from graphveil.privacy.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

DOES_NOT_HOLD = 1


def audit(
    name: Annotated[
        str | None,
        typer.Argument(help="A name from `graphveil mechanisms`, or PATH.py:NAME for one of your own."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The budget of a report; 1 unless a plan says it.")
    ] = None,
    dims: Annotated[
        int | None,
        typer.Option(help="How many values a row has (for labels: classes; levels: levels; links: users)."),
    ] = None,
    sampled: Annotated[int | None, typer.Option(help="How many of them a report is about.")] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan as a JSON file: audit what it asks, with its own options.")
    ] = None,
    quick: Annotated[
        bool | None,
        typer.Option(
            "--quick/--full",
            help="2·10^5 draws (10^7 of what is cheap) or 10^7. Full for one mechanism, quick for --all.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Repeat the same draws; without it, as a client draws.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Audit every registered mechanism.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Check that a mechanism keeps what it claims; exit status 1 where it does not.

    Its tables are read as integers, its whole reports are enumerated,
    its behaviour is watched, its sampler is tested with millions of draws.
    It ends with what was not covered.

    Example: graphveil audit multibit --epsilon 1 --dims 100 --sampled 4

    Example: graphveil audit my_mechanism.py:build --quick

    Example: graphveil audit --plan plan.json

    Example: graphveil audit --all --json
    """
    if plan is not None:
        given = {
            "a name": name,
            "--epsilon": epsilon,
            "--dims": dims,
            "--sampled": sampled,
            "--all": everything or None,
        }
        both = [option for option, value in given.items() if value is not None]
        if both:
            raise InputError(f"a plan says all of it by itself: leave out {', '.join(both)}, or --plan")
        nothing: dict[str, Any] = {"epsilon": None, "dims": None, "sampled": None, "seed": seed}
        _audit_one(read_plan(plan), nothing, bool(quick), as_json)
        return
    epsilon = 1.0 if epsilon is None else epsilon
    check_budget(epsilon)
    if dims is not None:
        check_dims(dims, sampled)
    if sampled is not None and dims is None:
        raise InputError("sampled needs dims: say how many values a row has, as in --dims 100 --sampled 4")
    if (name is None) != everything:
        raise InputError(
            "name one mechanism, PATH.py:NAME, --plan FILE, or --all: `graphveil mechanisms` lists the names"
            if name is None
            else f"--all audits every mechanism: leave out --all or {name!r}"
        )
    settings = {"epsilon": epsilon, "dims": dims, "sampled": sampled, "seed": seed}
    if name is None:
        _audit_all(settings, quick is not False, as_json)
    else:
        _audit_one(name, settings, bool(quick), as_json)


def read_plan(path: Path) -> Plan:
    """The plan in a JSON file, as `Plan.to_json` writes it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the plan {str(path)!r} cannot be read ({type(error).__name__}): give a JSON file"
        ) from None
    return Plan.from_json(text)


def _audit_one(name: str | Plan, settings: dict[str, Any], quick: bool, as_json: bool) -> None:
    subject: Any = name
    if isinstance(name, Plan):
        name = name.mechanism
    elif ":" in name or name.endswith(".py"):
        subject = load_mechanism(name)
    else:
        load_entry(name)
    with progress() as tell:
        audited = run_audit(subject, settings, quick, lambda step: tell(f"{name}: {step}"))
    if as_json:
        typer.echo(audited.to_json())
    else:
        show(audited)
    if not audited.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def _audit_all(settings: dict[str, Any], quick: bool, as_json: bool) -> None:
    audits, refused = [], []
    with progress() as tell:
        for place, name in enumerate(names(), 1):
            tell(f"{place} of {len(names())}: {name}")
            try:
                audits.append(run_audit(name, settings, quick))
            except InputError as error:
                refused.append(f"{name}: {error}")
    if as_json:
        typer.echo(json.dumps([audited.as_dict() for audited in audits], ensure_ascii=False))
    else:
        Console().print(audit_table(audits))
        if not all(audited.finite for audited in audits):
            Console().print("(in parentheses: no finite table, by its own closed form)")
        Console(soft_wrap=True).print("What no audit covers: `graphveil audit NAME` ends with it.")
        for audited in audits:
            for leak in audited.leaks:
                Console(soft_wrap=True).print(f"[bold red]{escape(audited.name)}[/]: {escape(leak)}")
    for sentence in refused:
        typer.echo(f"not audited, {sentence}", err=True)
    if not audits:
        raise InputError("no mechanism could be audited with these settings")
    if not all(audited.holds for audited in audits if entry(audited.name).sound):
        raise typer.Exit(DOES_NOT_HOLD)


def run_audit(
    subject: Any, settings: dict[str, Any], quick: bool, tell: Callable[[str], None] | None = None
) -> Audit:
    """An audit with the command's settings."""
    seed = settings["seed"]
    return audit_mechanism(
        subject,
        epsilon=settings["epsilon"],
        dims=settings["dims"],
        sampled=settings["sampled"],
        quick=quick,
        words=None if seed is None else SeededWords(seed),
        progress=tell,
    )


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Say on stderr what is going on: one line that changes on a terminal, one line a step elsewhere."""
    console = Console(stderr=True, soft_wrap=True)
    if not console.is_terminal:
        yield lambda step: console.print(step, markup=False, highlight=False)
        return
    with console.status("…") as status:
        yield lambda step: status.update(escape(step))


def audit_table(audits: list[Audit]) -> Table:
    """One row a mechanism: what it claims, what it has, whether it holds."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    # Nothing is exact where there is no table.
    word = "exact" if any(audited.finite for audited in audits) else "stated"
    for heading in ("claimed ε", f"{word} ε", "claimed δ", f"{word} δ"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    for audited in audits:
        claimed, exact = audited.claimed, audited.exact
        table.add_row(
            escape(audited.name),
            f"{claimed.epsilon:g}",
            exact_epsilon(exact.epsilon, claimed.epsilon)
            if audited.finite
            else f"({rounded_up(exact.epsilon)})",
            f"{claimed.delta:g}",
            rounded_up(exact.delta, 3),
            "[green]yes[/]" if audited.holds else "[bold red]NO[/]",
        )
    return table


def show(audited: Audit) -> None:
    """The findings of one audit, step by step."""
    console = Console(soft_wrap=True, highlight=False)
    console.print(audit_table([audited]))
    for step in audited.steps:
        mark = "[dim]-[/]" if step.skipped else "[bold red]✗[/]" if step.leaks else "[green]✓[/]"
        console.print(f"\n{mark} [bold]{escape(step.title)}[/]\n  {escape(step.seen)}")
    parts = (
        ("It protects", audited.protects),
        ("It leaks", audited.leaks),
        ("On trust", audited.trusts),
        ("Not covered", audited.not_covered),
    )
    for title, sentences in parts:
        if sentences:
            console.print(f"\n[bold]{title}[/]")
            for sentence in sentences:
                console.print(f"  • {escape(sentence)}")
    if audited.holds:
        console.print(f"\n[green]The claim of {escape(audited.name)} holds.[/]")
    else:
        console.print(f"\n[bold red]The claim of {escape(audited.name)} does not hold.[/]")
