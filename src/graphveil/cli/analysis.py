"""How commands run an analysis, write its figure or page, and print what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from graphveil.cli.console import one_bar, say, show_table, written
from graphveil.experiments.analysis import AnalysisResult, DrawnResult
from graphveil.files import PAGES
from graphveil.methods.job import Progress

Drawn = TypeVar("Drawn", bound=DrawnResult)


def print_analysis(result: AnalysisResult, as_json: bool) -> None:
    """Print the table of an analysis and the sentences below it, or its JSON."""
    if as_json:
        say(json.dumps(result.to_dict(), ensure_ascii=False))
        return
    show_table(result.table())
    say(*result.sentences())


def draw_analysis(run: Callable[[Progress], Drawn], out: Path | None, as_json: bool) -> Drawn:
    """Run an analysis below a progress bar, write its figure or page, and print it with the file's name."""
    with one_bar() as progress:
        result = run(progress)
    if out is not None:
        result.write(out)
    if as_json:
        say(json.dumps({**result.to_dict(), **written(out)}, ensure_ascii=False))
        return result
    print_analysis(result, as_json)
    if out is not None:
        say(f"The {'page' if out.suffix in PAGES else 'figure'} is in {out}.")
    return result
