"""graphveil audit: does a mechanism keep what it claims?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from graphveil.audit import audit as audit_mechanism
from graphveil.audit.candidate import load_mechanism, read_plan
from graphveil.audit.examine import Audit
from graphveil.audit.findings import exact_epsilon
from graphveil.channels.sampling import SeededBits
from graphveil.cli.console import FAILED, Console, print_result, say, show_table
from graphveil.cli.options import AsJson
from graphveil.errors import InputError
from graphveil.experiments.table import Table
from graphveil.mechanisms.limits import check_budget, check_dims
from graphveil.mechanisms.registry import entry, load_entry, names
from graphveil.methods.terms import option
from graphveil.number_format import rounded_up
from graphveil.privacy.plan import Plan


def audit(
    *,
    name: str | None = option(
        None, "A name from `graphveil mechanisms`, or PATH.py:NAME for one of your own.", positional=True
    ),
    epsilon: float | None = option(None, "The budget of a report; 1 unless a plan says it."),
    dims: int | None = option(
        None, "How many values a row has (for labels: classes; levels: levels; links: users)."
    ),
    sampled: int | None = option(None, "How many of them a report is about."),
    plan: Path | None = option(None, "A plan as a JSON file: audit what it asks, with its own options."),
    collection: Path | None = option(
        None,
        "With --plan: let this collection publish the plan if its audit holds. Name the mechanism too, whose code is run.",
        metavar="DIR",
    ),
    quick: bool | None = option(
        None,
        "2·10^5 draws (10^7 of what is cheap) and some sizes, or 10^7 and all sizes. Full for one mechanism, quick for "
        "--all.",
        "--quick/--full",
    ),
    seed: int | None = option(None, "Repeat the same draws; without it, as a client draws."),
    minutes: float | None = option(
        None,
        "How long the audit of a mechanism may take: 10 by default, 3 with --quick. What is not finished then does not hold.",
    ),
    everything: bool = option(False, "Audit every registered mechanism.", "--all"),
    as_json: AsJson = False,
) -> None:
    """Check that a mechanism keeps what it claims; exit status 1 where it does not.

    Its tables are read as integers, its whole reports are enumerated,
    its behaviour is watched, its sampler is tested with millions of draws.
    It is tried with 1 to 4,096 values, at epsilon 0.01 to 12 and above, and for up to a million users in one call; a plan in its
    own size alone. What is not graphveil's own is also run in a process of its own.
    It says which sizes it covers and what was not covered: first for code from outside, else last.

    Example: graphveil audit multibit --epsilon 1 --dims 100 --sampled 4

    Example: graphveil audit my_mechanism.py:build --quick

    Example: graphveil audit --plan plan.json

    Example: graphveil audit own.py:mine --plan plan.json --collection survey

    Example: graphveil audit --all --json
    """
    if collection is not None and (plan is None or quick):
        raise InputError("--collection keeps the full audit of a plan: give --plan FILE, leave out --quick")
    size: dict[str, Any] = {"epsilon": epsilon, "dims": dims, "sampled": sampled}
    subject: str | Plan | None = name
    if plan is not None:
        given = {f"--{option}": value for option, value in {**size, "all": everything or None}.items()}
        if both := [option for option, value in given.items() if value is not None]:
            raise InputError(f"a plan says all of it by itself: leave out {', '.join(both)}, or --plan")
        subject = read_plan(plan, name)
    else:
        size["epsilon"] = 1.0 if epsilon is None else epsilon
        check_budget(size["epsilon"])
        if dims is not None:
            check_dims(dims, sampled)
        elif sampled is not None:
            raise InputError("sampled needs dims, how many values a row has: for example --dims 100")
        if (name is None) != everything:
            raise InputError(
                "name one mechanism, PATH.py:NAME, --plan FILE, or --all: `graphveil mechanisms` lists the names"
                if name is None
                else f"--all audits every mechanism: leave out --all or {name!r}"
            )

    def run(subject: Any, tell: Callable[[str], None] | None = None) -> Audit:
        random_bits = None if seed is None else SeededBits(seed)
        brief = everything if quick is None else quick
        return audit_mechanism(
            subject, **size, quick=brief, random_bits=random_bits, progress=tell, minutes=minutes
        )

    if subject is None:
        _audit_all(run, as_json)
        return
    title = subject.mechanism if isinstance(subject, Plan) else subject
    candidate: Any = subject
    if isinstance(subject, str) and (":" in subject or subject.endswith(".py")):
        candidate = load_mechanism(subject)
    elif isinstance(subject, str):
        load_entry(subject)
    with progress() as tell:
        audited = run(candidate, lambda step: tell(f"{title}: {step}"))
    if as_json:
        say(audited.to_json())
    else:
        show(audited)
    if not audited.holds:
        raise typer.Exit(FAILED)
    if collection is not None and isinstance(subject, Plan):
        from graphveil.collect.storage import open_collection

        open_collection(collection).keep_audit(subject, audited)
        say(f"{collection} may publish this plan.", err=True)


def _audit_all(run: Callable[..., Audit], as_json: bool) -> None:
    audits, refused = [], []
    with progress() as tell:
        for place, name in enumerate(names(), 1):
            tell(f"{place} of {len(names())}: {name}")
            try:
                audits.append(run(name))
            except InputError as error:
                refused.append(f"{name}: {error}")
    formed = not all(audited.finite for audited in audits)
    print_result(
        [audited.as_dict() for audited in audits],
        as_json,
        audit_table(audits),
        *(["(in parentheses: no finite table, by its own closed form)"] if formed else []),
        "`graphveil audit NAME` lists what no audit covers.",
        *(f"{audited.name}: {leak}" for audited in audits for leak in audited.leaks),
    )
    for sentence in refused:
        say(f"not audited, {sentence}", err=True)
    if not audits:
        raise InputError("no mechanism could be audited with these settings")
    if not all(audited.holds for audited in audits if entry(audited.name).sound):
        raise typer.Exit(FAILED)


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
    """Return one row a mechanism: what it claims, what it has, whether it holds."""
    # Nothing is exact where there is no table.
    word = "exact" if any(audited.finite for audited in audits) else "stated"
    rows = []
    for audited in audits:
        claimed, exact = audited.claimed, audited.exact
        epsilon = f"({rounded_up(exact.epsilon)})"
        if audited.finite:
            epsilon = exact_epsilon(exact.epsilon, claimed.epsilon)
        holds = "yes" if audited.holds else "NO" if audited.leaks else "not known"
        delta = rounded_up(exact.delta, 3)
        rows.append((audited.name, f"{claimed.epsilon:g}", epsilon, f"{claimed.delta:g}", delta, holds))
    head = ("mechanism", "claimed ε", f"{word} ε", "claimed δ", f"{word} δ", "holds")
    return Table.of(head, rows, text=("holds",))


def show(audited: Audit) -> None:
    """Print the findings of one audit, step by step; what is not covered comes first for code from outside, else last."""
    console = Console(soft_wrap=True, highlight=False)
    gaps = {"Not covered": audited.not_covered}
    if audited.foreign:
        _show_parts(console, gaps)
    show_table(audit_table([audited]))
    for step in audited.steps:
        idle = step.skipped or step.unfinished
        mark = "[bold red]✗[/]" if step.leaks else "[dim]-[/]" if idle else "[green]✓[/]"
        console.print()
        console.print(f"{mark} [bold]{escape(step.title)}[/]")
        console.print(f"  {escape(step.seen)}")
    parts = {
        "It protects": audited.protects,
        "It leaks": audited.leaks,
        "On trust": audited.trusts,
        "Sizes covered": [audited.covers],
    }
    console.print()
    _show_parts(console, parts if audited.foreign else parts | gaps)
    name = escape(audited.name)
    proved = "Its tables are proved" if audited.finite else "Its epsilon is that of a closed form"
    verdict = f"[green]The claim of {name} holds.[/] {proved}, and its code is tested."
    if audited.leaks:
        verdict = f"[bold red]The claim of {name} does not hold.[/]"
    elif not audited.holds:
        verdict = f"[bold red]Whether the claim of {name} holds is not known:[/] the audit ran out of time."
    elif audited.foreign:
        verdict = f"[green]No fault was found in {name}.[/] That is evidence that its claim holds, not proof."
    console.print(verdict)


def _show_parts(console: Console, parts: dict[str, list[str]]) -> None:
    """Print the parts that are not empty, with an empty line below each."""
    for title, sentences in parts.items():
        if sentences:
            console.print(f"[bold]{title}[/]")
            for sentence in sentences:
                console.print(f"  • {escape(sentence)}")
            console.print()
