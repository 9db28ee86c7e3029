"""How commands run an analysis, write its figure or page, and print what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from graphveil.cli.console import one_bar, print_result
from graphveil.experiments.analysis import AnalysisResult, DrawnResult
from graphveil.experiments.table import Table
from graphveil.files import PAGES
from graphveil.methods.job import Progress

Drawn = TypeVar("Drawn", bound=DrawnResult)


def print_analysis(result: AnalysisResult, as_json: bool) -> None:
    """Print the table of an analysis and the sentences below it, or its JSON."""
    print_result(result.to_dict(), as_json, result.table(), *result.sentences())


def draw_analysis(run: Callable[[Progress], Drawn], out: Path | None, as_json: bool) -> Drawn:
    """Run an analysis below a progress bar, write its figure or page, and print it with the file's name."""
    with one_bar() as progress:
        result = run(progress)
    if out is not None:
        result.write(out)
    files: dict[str, str | None] = {"figure": None, "page": None}
    shown: list[Table | str] = [result.table(), *result.sentences()]
    if out is not None:
        kind = "page" if out.suffix in PAGES else "figure"
        files[kind] = str(out)
        shown.append(f"The {kind} is in {out}.")
    print_result({**result.to_dict(), **files}, as_json, *shown)
    return result
