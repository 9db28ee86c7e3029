"""graphveil demo: a town whose users report, without data and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.checks import check_whole
from graphveil.cli.console import FAILED, interrupted, progress_bars, say, show_table
from graphveil.cli.options import Processes, output
from graphveil.experiments.demo import SMALL, Demo, run_demo, scored
from graphveil.experiments.engine import AUTO, check_jobs
from graphveil.experiments.table import Table
from graphveil.files import write_whole
from graphveil.methods.terms import option

MEANING = (
    "veil     half of the users report bits of interests, which a small public model is learned from; every other device",
    "         evaluates it and reports the kind that comes out",
    "base     everybody reports bits of interests, and a network learns from them",
    "control  the same with blinded answers, which carry nothing: what graph and labels give to this method",
)


def demo(
    *,
    out: Annotated[Path, output()] = option(Path("graphveil-demo.html"), "Where to write the report."),
    runs: int = option(5, "How many runs for each budget."),
    jobs: Processes = AUTO,
) -> None:
    """Collect, learn and audit on an embedded town: a table here, and a report as one HTML file.

    Example: graphveil demo --out report.html
    """
    check_whole(runs, "--runs", least=1)
    check_jobs(jobs)
    kept, stopped = Demo(), False
    with progress_bars(steps=False) as bars:
        try:
            for kept in run_demo(runs, jobs, lambda what, done, total: bars.count(done, total, what)):
                if any(result.interrupted for result in kept.private):
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            stopped = True
    if kept.private:
        show(kept, out)
    if stopped:
        computed = f"shown, and in {out}, is what was computed until then"
        begins = "the same command begins anew"
        raise interrupted(f"{computed if kept.private else 'nothing was computed yet'}; {begins}")
    if not all(audited.holds for audited in kept.audits):
        say("Error: the audit found a claim that does not hold, see the report", err=True)
        raise typer.Exit(FAILED)


def show(demo: Demo, out: Path) -> None:
    """Write the page, and print what came out in a sentence, a small table, what it means, and where the page is."""
    write_whole(out, demo.html())
    say(demo.headline(), *filter(None, [demo.difference()]), "")
    show_table(Table.of(SMALL, demo.small_rows()))
    bounds = [f"asking nobody (structure): {scored(demo.structure)}"]
    bounds += [f"without privacy: {scored(demo.plain)}"] if demo.plain else []
    say(f" {'; '.join(bounds)}. All in percent of test users, ± half of the 95% interval.", "", *MEANING, "")
    held = sum(audited.holds for audited in demo.audits)
    if demo.audits:
        say(f"The audit: {held} of {len(demo.audits)} claims of ε hold.")
    say(f"The page with the town, the curve, who was asked what and the audit: {out}")
