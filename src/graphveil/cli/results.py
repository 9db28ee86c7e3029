"""graphveil results: what earlier runs have kept, listed, tagged, deleted and exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import confirm, print_result, say, show_table, warn
from graphveil.cli.options import AsJson, with_options
from graphveil.errors import InputError
from graphveil.experiments.report import results_page, results_table
from graphveil.experiments.result import StoredResult
from graphveil.experiments.results import (
    EXPORTS,
    ORDERS,
    Selection,
    check_tag,
    sort_results,
    with_numbers,
    write_export,
)
from graphveil.experiments.store import ResultStore
from graphveil.files import PAGES, check_output, write_whole
from graphveil.number_format import counted
from graphveil.plugins import unknown_name

TITLE = "graphveil: kept results"
Names = list[str] | None


@with_options
def results(
    *,
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Only the results with these numbers (the first column).")
    ] = None,
    selection: Selection,
    sort: Annotated[
        str, typer.Option(help=f"By what to sort: {', '.join(ORDERS)}. Dates and scores: the highest first.")
    ] = "number",
    reverse: Annotated[bool, typer.Option("--reverse", help="Sort the other way round.")] = False,
    add_tag: Annotated[
        Names, typer.Option(help="Give the selected results this tag; may be repeated.")
    ] = None,
    remove_tag: Annotated[Names, typer.Option(help="Take this tag from them; may be repeated.")] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the selected results, after asking.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write them to a file instead: .csv, .parquet, .json, or a page, .html."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what earlier runs have kept: scores with 95% intervals, beside control and structure, and the gain.

    Every result has a number, which no other ever gets. Of the same experiment the last result is listed, unless --earlier is
    given, or a number or a tag names another one. What is selected can be tagged, exported, or deleted. Deleting asks first; the
    finished runs stay, so the same command makes the result again.

    Example: graphveil results --data cora --sort gain

    Example: graphveil results 3 7 --add-tag submitted

    Example: graphveil results --tag submitted --out submitted.csv
    """
    if sort not in ORDERS:
        raise unknown_name("order", sort, ORDERS)
    if out is not None:
        check_output(out, (*EXPORTS, *PAGES), "--out")
    # A number names a result, be there a later one or not.
    selection = replace(selection, earlier=selection.earlier or bool(numbers))
    _check_asked(bool(numbers or selection.filters), delete, yes, bool(add_tag or remove_tag), out, as_json)
    store = ResultStore()
    kept = store.results(warn)
    chosen = selection.of(with_numbers(kept, numbers) if numbers else kept)
    if delete:
        delete_results(store, chosen, yes, as_json)
        say_what_is_hidden(chosen, kept, selection, "deleted")
        return
    if add_tag or remove_tag:
        tagged = [each.number for each in chosen]
        store.tag(tagged, add=[check_tag(tag, kept) for tag in add_tag or ()], remove=remove_tag or ())
        kept = store.results()
        chosen = with_numbers(kept, tagged)
    chosen = sort_results(chosen, sort, reverse)
    if out is not None:
        if out.suffix in PAGES:
            write_whole(out, results_page(chosen, TITLE))
        else:
            write_export(out, chosen)
        say(f"{counted(len(chosen), 'result')} {'is' if len(chosen) == 1 else 'are'} in {out}.")
    else:
        tables = [results_table(chosen)] if chosen else []
        print_result({"results": [each.listing() for each in chosen]}, as_json, *tables)
    say_what_is_hidden(chosen, kept, selection)


def _check_asked(
    selected: bool, delete: bool, yes: bool, tagging: bool, out: Path | None, as_json: bool
) -> None:
    """Refuse what contradicts itself, and what would change everything by accident."""
    if yes and not delete:
        raise InputError("--yes has no meaning where nothing is deleted: give --delete too, or leave it out")
    if delete and (tagging or out is not None):
        raise InputError(
            "--delete is for itself: leave out --add-tag, --remove-tag and --out, or give them before"
        )
    if out is not None and as_json:
        raise InputError("--out and --json say two places: leave one out")
    if (delete or tagging) and not selected:
        what = "deleted" if delete else "tagged"
        raise InputError(f"without a selection everything would be {what}: give numbers, --data, --tag …")


def delete_results(store: ResultStore, chosen: list[StoredResult], yes: bool, as_json: bool) -> None:
    """Delete results, after asking."""
    count = counted(len(chosen), "result")
    if chosen and not yes:
        show_table(results_table(chosen), err=True)
        if not confirm(f"Delete {count}?", "nothing was deleted: give --yes too"):
            say("Nothing was deleted.", err=True)
            return
    numbers = [each.number for each in chosen]
    if numbers:
        store.delete(numbers)
    said = f"Deleted {count}; finished runs stay." if numbers else "No result fits: nothing was deleted."
    print_result({"deleted": numbers}, as_json, said)


def say_what_is_hidden(
    chosen: list[StoredResult], kept: list[StoredResult], selection: Selection, done: str = "listed"
) -> None:
    """On stderr: why nothing fits, or that earlier results are not among them."""
    if not kept:
        say(
            f"No run has left a result in {ResultStore().file} yet: run a method first, as in "
            "`graphveil run base --data town --epsilon 2`.",
            err=True,
        )
    elif not chosen:
        say(f"No result fits: {selection.missing(kept) or 'none has all of this at once'}.", err=True)
    elif not (selection.tag or selection.earlier):
        hidden = len(replace(selection, earlier=True).of(kept)) - len(chosen)
        if hidden:
            say(
                f"Not {done}: {counted(hidden, 'earlier result')} of the same experiments (--earlier).",
                err=True,
            )
