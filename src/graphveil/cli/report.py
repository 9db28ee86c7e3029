"""graphveil report: results as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from graphveil.checks import check_whole
from graphveil.cli.audit import progress
from graphveil.cli.console import say, warn
from graphveil.errors import InputError
from graphveil.experiments.report import HOPS, TITLE, write_report
from graphveil.experiments.result import Result
from graphveil.experiments.result_store import ResultStore, latest, read_results
from graphveil.experiments.unit_store import results_file
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
    found = read_results(results, warn) if results else earlier()
    with progress() as tell:
        write_report(out, found, title=title, energy=energy, hops=hops, tell=tell)
    say(f"The report of {counted(len(latest(found)), 'result')} is in {out}.")


def earlier() -> Sequence[Result]:
    """Return what earlier runs have kept."""
    file = results_file()
    found = ResultStore(file).results(warn)
    if not found:
        raise InputError(
            f"no run has left a result in {file} yet: run a method first, as in "
            "`graphveil run base --data town --epsilon 2`, or name files with results"
        )
    return found
