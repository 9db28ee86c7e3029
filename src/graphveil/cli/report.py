"""graphveil report: results as one HTML file."""

from __future__ import annotations

from pathlib import Path

from graphveil.checks import check_whole
from graphveil.cli.audit import progress
from graphveil.cli.console import say, warn
from graphveil.cli.options import with_options
from graphveil.experiments.report import HOPS, TITLE, write_report
from graphveil.experiments.result_store import kept_results, latest, read_results
from graphveil.files import check_output
from graphveil.methods.terms import option
from graphveil.number_format import counted


@with_options
def report(
    *,
    results: list[Path] | None = option(
        None,
        "Files that `graphveil run … --json` has written, files of results, or folders of them; "
        "without any, the results of all earlier runs.",
        positional=True,
    ),
    out: Path = option(Path("graphveil-report.html"), "Where to write the page."),
    title: str = option(TITLE, "The title of the page."),
    energy: bool = option(
        True, "Also simulate collections, and show what hops do to them.", "--energy/--no-energy"
    ),
    hops: int = option(HOPS, "How many hops to show the energy of."),
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
