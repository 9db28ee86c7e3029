"""graphveil compare: kept results against each other, over the same seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import print_result, warn
from graphveil.cli.options import AsJson, with_options
from graphveil.errors import InputError
from graphveil.experiments.comparison import compare as compared
from graphveil.experiments.report import comparison_page, results_table
from graphveil.experiments.results import Selection, find_result, kept_results
from graphveil.files import PAGES, check_output, write_whole

TITLE = "graphveil: comparison of kept results"


@with_options
def compare(
    *,
    names: Annotated[
        list[str],
        typer.Argument(
            help="Two or more kept results: numbers that `graphveil results` lists, tags, or methods."
        ),
    ],
    selection: Selection,
    out: Annotated[
        Path | None, typer.Option(help="Also write results and comparison to one page, .html.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare kept results, paired over seeds: mean difference, 95% t-interval and p value.

    Each is compared with each. Where that is more than one comparison, p is corrected after Holm and the words rest on that.
    Where a tag or a method is that of several results, narrow them with --data, --epsilon and so on. Results of other graphs,
    splits, tasks or seeds cannot be paired and are refused.

    Example: graphveil compare base upgnet --data cora --epsilon 1

    Example: graphveil compare 3 7 submitted --out comparison.html
    """
    if len(names) < 2:
        raise InputError(f"a comparison needs at least 2 results, got {len(names)}: name another one")
    if out is not None:
        check_output(out, PAGES, "--out")
    kept = kept_results(warn)
    comparison = compared([find_result(name, kept, selection) for name in names])
    if out is not None:
        write_whole(out, comparison_page(comparison, TITLE))
    whole = {
        "results": [each.listing() for each in comparison.results],
        "comparisons": [pair.to_dict() for pair in comparison.pairs],
        "sentences": comparison.sentences,
        "file": None if out is None else str(out),
    }
    written = () if out is None else (f"The page is in {out}.",)
    tables = (results_table(comparison.results), "", comparison.table())
    print_result(whole, as_json, *tables, *comparison.sentences, *written)
