"""graphveil report: results as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.checks import check_whole
from graphveil.cli.audit import progress
from graphveil.cli.console import say, warn
from graphveil.experiments.report import HOPS, TITLE, write_report
from graphveil.experiments.results import kept_results, latest, read_results
from graphveil.files import check_output
from graphveil.number_format import counted


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files that `graphveil run … --json` has written, files of results, or folders of them; "
            "without any, the results of all earlier runs."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("graphveil-report.html"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = TITLE,
    energy: Annotated[
        bool,
        typer.Option(
            "--energy/--no-energy", help="Also simulate collections, and show what hops do to them."
        ),
    ] = True,
    hops: Annotated[int, typer.Option(help="How many hops to show the energy of.")] = HOPS,
) -> None:
    """Put results on one self-contained page: tables beside their controls, accuracy over ε, energy over hops.

    Example: graphveil report --out report.html

    Example: graphveil report results/ --out report.html --title "Cora, ten runs" --no-energy
    """
    check_whole(hops, "--hops", least=1)
    check_output(out, option="--out")
    found = read_results(results, warn) if results else kept_results(warn, ", or name files with results")
    with progress() as tell:
        write_report(out, found, title=title, energy=energy, hops=hops, tell=tell)
    say(f"The report of {counted(len(latest(found)), 'result')} is in {out}.")
