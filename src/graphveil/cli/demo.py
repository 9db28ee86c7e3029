"""graphveil demo: what graphveil does, without data and without a network."""

from __future__ import annotations

import typer
from rich.console import Console

from graphveil.cli.audit import DOES_NOT_HOLD, audit_table, progress
from graphveil.privacy.audit import audit

# One of each kind: a sampled bit, a density cut into cells, an (ε, δ) noise, a label, a level, a dense report.
SHOWN = ("multibit", "piecewise", "laplace", "analytic-gaussian", "krr", "esw", "privunit")
MEANING = """\
[bold]claimed ε[/]  what a report may reveal: any report is at most e^ε times as likely under one private row as under another.
[bold]exact ε[/]    what it does reveal, computed from the integers that reports are drawn by, and rounded up.
[bold]δ[/]          some mechanisms may exceed ε with this probability; for all others it is 0.
[bold]holds[/]      yes, if the exact ε is within the claim, whole reports confirm it, nothing else of a report depends on
           private data, and the sampler was seen to draw what its table says.

[dim]graphveil audit multibit --epsilon 1     shows each step for one mechanism, with 10^7 draws
graphveil mechanisms                     lists all of them[/]"""


def demo() -> None:
    """Audit some mechanisms at ε = 1 and say what the numbers mean.

    Example: graphveil demo
    """
    with progress() as tell:
        found = []
        for name in SHOWN:
            tell(f"auditing {name}")
            found.append(audit(name, epsilon=1.0, quick=True))
    console = Console(soft_wrap=True, highlight=False)
    console.print("Users randomize their data on their own devices. What can their reports give away?\n")
    console.print(audit_table(found))
    console.print(f"\n{MEANING}")
    if not all(audited.holds for audited in found):
        raise typer.Exit(DOES_NOT_HOLD)
