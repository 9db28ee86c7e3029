"""graphveil results, compare and report: what earlier runs have kept, listed, compared, and on pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from graphveil.checks import check_whole
from graphveil.cli.audit import progress
from graphveil.cli.console import confirm, print_result, say, show_table, warn
from graphveil.cli.options import AsJson, Page, output
from graphveil.errors import InputError
from graphveil.experiments.comparison import compare as compared
from graphveil.experiments.report import (
    HOPS,
    TITLE,
    comparison_page,
    results_page,
    results_table,
    write_report,
)
from graphveil.experiments.result import StoredResult
from graphveil.experiments.results import (
    EXPORTS,
    ORDERS,
    Selection,
    check_tag,
    find_result,
    kept_results,
    latest,
    read_results,
    sort_results,
    with_numbers,
    write_export,
)
from graphveil.experiments.store import ResultStore, results_file
from graphveil.files import PAGES, write_whole
from graphveil.methods.terms import option
from graphveil.number_format import counted
from graphveil.plugins import unknown_name

LISTED_TITLE, COMPARED_TITLE = "graphveil: kept results", "graphveil: comparison of kept results"
Names = list[str] | None


def results(
    *,
    numbers: list[int] | None = option(
        None, "Only the results with these numbers (the first column).", positional=True
    ),
    selection: Selection,
    sort: str = option(
        "number", f"By what to sort: {', '.join(ORDERS)}. Dates and scores: the highest first."
    ),
    reverse: bool = option(False, "Sort the other way round.", "--reverse"),
    add_tag: Names = option(None, "Give the selected results this tag; may be repeated."),
    remove_tag: Names = option(None, "Take this tag from them; may be repeated."),
    delete: bool = option(False, "Delete the selected results, after asking.", "--delete"),
    yes: bool = option(False, "Delete without asking.", "--yes"),
    out: Annotated[Path | None, output(*EXPORTS, *PAGES)] = option(
        None, "Write them to a file instead: .csv, .parquet, .json, or a page, .html."
    ),
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
    # A number names a result, be there a later one or not.
    selection = replace(selection, earlier=selection.earlier or bool(numbers))
    tagging = bool(add_tag or remove_tag)
    # What contradicts itself, and what would change everything by accident.
    if yes and not delete:
        raise InputError("--yes has no meaning where nothing is deleted: give --delete too, or leave it out")
    if delete and (tagging or out is not None):
        raise InputError("--delete is for itself: leave out --add-tag, --remove-tag and --out")
    if out is not None and as_json:
        raise InputError("--out and --json say two places: leave one out")
    if (delete or tagging) and not (numbers or selection.filters):
        what = "deleted" if delete else "tagged"
        raise InputError(f"without a selection everything would be {what}: give numbers, --data, --tag …")
    store = ResultStore()
    kept = store.results(warn)
    chosen = selection.of(with_numbers(kept, numbers) if numbers else kept)
    if delete:
        delete_results(store, chosen, yes, as_json)
        say_what_is_hidden(chosen, kept, selection, "deleted")
        return
    if tagging:
        tagged = [each.number for each in chosen]
        store.tag(tagged, add=[check_tag(tag, kept) for tag in add_tag or ()], remove=remove_tag or ())
        kept = store.results()
        chosen = with_numbers(kept, tagged)
    chosen = sort_results(chosen, sort, reverse)
    if out is not None:
        if out.suffix in PAGES:
            write_whole(out, results_page(chosen, LISTED_TITLE))
        else:
            write_export(out, chosen)
        say(f"{counted(len(chosen), 'result')} {'is' if len(chosen) == 1 else 'are'} in {out}.")
    else:
        tables = [results_table(chosen)] if chosen else []
        print_result({"results": [each.listing() for each in chosen]}, as_json, *tables)
    say_what_is_hidden(chosen, kept, selection)


def delete_results(store: ResultStore, chosen: list[StoredResult], yes: bool, as_json: bool) -> None:
    """Delete results, after asking.

    Parameters
    ----------
    store
        The store of results.
    chosen
        The results to delete.
    yes
        Whether to delete without asking.
    as_json
        Whether to print one JSON object.
    """
    count = counted(len(chosen), "result")
    if chosen and not yes:
        show_table(results_table(chosen), err=True)
        if not confirm(f"Delete {count}?", "nothing was deleted: give --yes too"):
            say("Nothing was deleted.", err=True)
            return
    numbers = [each.number for each in chosen]
    if numbers:
        store.delete(numbers)
    sentence = f"Deleted {count}; finished runs stay." if numbers else "No result fits: nothing was deleted."
    print_result({"deleted": numbers}, as_json, sentence)


def say_what_is_hidden(
    chosen: list[StoredResult], kept: list[StoredResult], selection: Selection, done: str = "listed"
) -> None:
    """Say on stderr why nothing fits, or that earlier results are not among them.

    Parameters
    ----------
    chosen
        The results that were selected.
    kept
        All results.
    selection
        What was selected by.
    done
        What was done with those that were selected.
    """
    if not kept:
        say(
            f"No run has left a result in {results_file()} yet: run a method first, as in "
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


def compare(
    *,
    names: list[str] = option(
        ...,
        "Two or more kept results: numbers that `graphveil results` lists, tags, or methods.",
        positional=True,
    ),
    selection: Selection,
    out: Page = option(None, "Also write results and comparison to one page, .html."),
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
    kept = kept_results(warn)
    comparison = compared([find_result(name, kept, selection) for name in names])
    if out is not None:
        write_whole(out, comparison_page(comparison, COMPARED_TITLE))
    whole = {
        "results": [each.listing() for each in comparison.results],
        "comparisons": [pair.to_dict() for pair in comparison.pairs],
        "sentences": comparison.sentences,
        "file": None if out is None else str(out),
    }
    written = () if out is None else (f"The page is in {out}.",)
    tables = (results_table(comparison.results), "", comparison.table())
    print_result(whole, as_json, *tables, *comparison.sentences, *written)


def report(
    *,
    results: list[Path] | None = option(
        None,
        "Files that `graphveil run … --json` has written, files of results, or folders of them; "
        "without any, the results of all earlier runs.",
        positional=True,
    ),
    out: Annotated[Path, output()] = option(Path("graphveil-report.html"), "Where to write the page."),
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
    found = read_results(results, warn) if results else kept_results(warn, ", or name files with results")
    with progress() as tell:
        write_report(out, found, title=title, energy=energy, hops=hops, tell=tell)
    say(f"The report of {counted(len(latest(found)), 'result')} is in {out}.")
