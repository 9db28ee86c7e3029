"""graphveil demo: a town whose users report, without data and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.cli.interrupts import interrupted
from graphveil.errors import InputError
from graphveil.experiments.runs.export import write_whole
from graphveil.experiments.show.demo import HEAD, WORDS, Demo, headline, html, rows, run_demo

FAILED, WIDTH = 1, 110
MEANING = """\
[bold]base[/]            reports of single interests, into a GNN
[bold]veil[/]            a public model, evaluated on the own device: the kind that it gives is reported
[bold]structure[/]       the best that graph and labels give: nobody is asked
[bold]accuracy[/]        on users whose kind nobody knows (± half of the 95% interval)
[bold]control[/]         the same method with blinded reports, which carry nothing
[bold]gain[/]            what the features at this budget add to the control, over the same splits
[bold]over structure[/]  what they add to asking nobody: what a budget is worth
[bold]exact ε[/]         computed from the integers that reports are drawn by, and rounded up"""


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("graphveil-demo.html"),
    runs: Annotated[int, typer.Option(help="How many runs for each budget.")] = 5,
    jobs: Annotated[int, typer.Option(help="How many processes; it changes no number.")] = 2,
) -> None:
    """Collect, learn and audit on an embedded town: a table here, and a report as one HTML file.

    Example: graphveil demo --out report.html
    """
    if runs < 1 or jobs < 1:
        raise InputError(f"runs and jobs must be at least 1, got {runs} and {jobs}")
    if not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder: name a file in a folder that is there with --out")
    kept = Demo()

    def keep(so_far: Demo) -> None:
        nonlocal kept
        kept = so_far

    stopped = False
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)
        try:
            run_demo(
                runs,
                jobs,
                lambda what, done, total: bars.update(task, description=what, completed=done, total=total),
                keep,
            )
        except KeyboardInterrupt:
            stopped = True
    if kept.private:
        show(kept, out)
    if stopped:
        shown = (
            f"shown, and in {out}, is what was computed until then"
            if kept.private
            else "nothing was computed yet"
        )
        raise interrupted(f"{shown}; the same command begins anew")
    if not all(audited.holds for audited in kept.audits):
        typer.echo("Error: the audit found a claim that does not hold, see the report", err=True)
        raise typer.Exit(FAILED)


def show(demo: Demo, out: Path) -> None:
    """The table, what it means, and the report."""
    write_whole(out, html(demo).encode())
    # Rows are kept in one piece where the screen is narrower.
    console = Console(soft_wrap=True, highlight=False, width=WIDTH)
    console.print(
        "A town: users of four kinds, who answer one question each about their interests, randomized."
    )
    console.print(f"[bold]{headline(demo)}[/]\n")
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for column in HEAD:
        table.add_column(column, justify="left" if column in HEAD[:WORDS] else "right")
    for row in rows(demo):
        table.add_row(*row)
    console.print(table)
    console.print(f"\n{MEANING}\n")
    budgets = {audited.claimed.epsilon for audited in demo.audits}
    broken = {audited.claimed.epsilon for audited in demo.audits if not audited.holds}
    console.print(
        f"The audit holds for {len(budgets - broken)} of {len(budgets)} budgets. The report is in {out}."
    )
