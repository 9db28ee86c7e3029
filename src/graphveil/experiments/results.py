"""Stored results: read from files, selected, sorted and exported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from graphveil.errors import InputError, StoreError
from graphveil.experiments.experiment_file import first_problem
from graphveil.experiments.result import SUMMARIES, Result, StoredResult, parse_json
from graphveil.experiments.store import RESULTS, ResultStore
from graphveil.experiments.table import Column, Kind, Table
from graphveil.files import PARQUET, read_text, write_whole
from graphveil.methods.terms import option
from graphveil.number_format import value_text
from graphveil.plugins import unknown_name

DATABASE = Path(RESULTS).suffix
SUFFIXES = (".json", ".jsonl", DATABASE)
# Told in a sentence of what was left out.
Skipped = Callable[[str], None]
AnyResult = TypeVar("AnyResult", bound=Result)


def kept_results(skipped: Skipped, instead: str = "") -> list[StoredResult]:
    """Return the results of all earlier runs; refused where there is none, with what to do ``instead``.

    ``skipped`` is told of damaged ones.
    """
    store = ResultStore()
    results = store.results(skipped)
    if not results:
        raise InputError(
            f"no run has left a result in {store.file} yet: run a method first, as in "
            f"`graphveil run base --data town --epsilon 2`{instead}"
        )
    return results


def latest(results: Sequence[AnyResult]) -> list[AnyResult]:
    """Return one result an experiment: the last one, and an interrupted one only where no other is there."""
    chosen: dict[str, AnyResult] = {}
    for result in results:
        other = chosen.get(result.identity)
        if other is None or not result.interrupted or other.interrupted:
            chosen[result.identity] = result
    return list(chosen.values())


def read_results(paths: Sequence[Path], skipped: Skipped = lambda _: None) -> list[Result]:
    """Return the results in some files, or in the .json, .jsonl and .sqlite files of some folders.

    A file holds one object, a list of them (below "results" too), or one a line, or is a file of results as the cache has it. Damaged
    results are left out, and ``skipped`` is told of them. A file without any result is refused; in a folder it is not looked at further, as
    long as another one has results.
    """
    results = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} is not there: name a file that `graphveil run … --json` has written")
        here = [result for file in _files(path) for result in _results(file, skipped, path.is_dir())]
        if not here:
            raise InputError(f"{path} holds no result: give what `graphveil run … --json` prints")
        results += here
    return results


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())


def _results(file: Path, skipped: Skipped, among_others: bool = False) -> Sequence[Result]:
    """The results of a file. One ``among_others`` in a folder may be about something else: nobody is told of that."""
    if file.suffix == DATABASE:
        try:
            return ResultStore(file).results(skipped)
        except StoreError:
            if not among_others:
                raise
            return []
    results, damaged = [], []
    for place, fields in _objects(read_text(file, "give a file of results", errors="replace")):
        try:
            results.append(Result.model_validate(fields))
        except ValidationError as error:
            damaged.append(f"{file}, {place}: skipped, no result ({first_problem(error)})")
    for line in damaged if results or not among_others else []:
        skipped(line)
    return results


def _objects(text: str) -> Iterator[tuple[str, Any]]:
    """All JSON values of a file with their places: one in all, the members of a list, or one a line."""
    whole = parse_json(text)
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        # What `graphveil results --json` prints.
        whole = whole["results"]
    if isinstance(whole, list):
        yield from ((f"entry {number}", entry) for number, entry in enumerate(whole, 1))
    elif whole is not None:
        yield "line 1", whole
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                # What cannot be read (a line that was cut off when the process was killed) is None, and no result.
                yield f"line {number}", parse_json(line)


# A tag starts with a letter, so that it is never taken for a number.
TAG = re.compile(r"[^\W\d_][\w.-]{0,63}")


@dataclass(frozen=True)
class Selection:
    """Filters of results: any of these values in each of these fields; None says nothing.

    Of the same experiment the last result is selected, unless ``earlier`` ones are too, or a tag names one.
    """

    method: list[str] | None = option(None, "Only results of this method; may be repeated.")
    data: list[str] | None = option(None, "Only those on this graph; may be repeated.")
    task: list[str] | None = option(None, "Only those of this task; may be repeated.")
    mechanism: list[str] | None = option(None, "Only those of this mechanism; may be repeated.")
    backbone: list[str] | None = option(None, "Only those of this backbone; may be repeated.")
    epsilon: list[float] | None = option(None, "Only those at this budget; may be repeated.")
    seed: list[int] | None = option(None, "Only those whose first run has this seed; may be repeated.")
    tag: list[str] | None = option(None, "Only those with this tag; may be repeated.")
    earlier: bool = option(
        False, "Also those of which a later result of the same experiment is there.", "--earlier"
    )

    @property
    def filters(self) -> dict[str, list[Any]]:
        """The values that are selected by, of each field that has some."""
        return {name: each for name, each in vars(self).items() if name != "earlier" and each}

    def of(self, results: Sequence[StoredResult]) -> list[StoredResult]:
        """Return the results that are selected, by their numbers."""
        chosen = results if self.earlier or self.tag else latest(results)
        fitting = (
            each
            for each in chosen
            if all(_values(each, name) & {*wanted} for name, wanted in self.filters.items())
        )
        return sorted(fitting, key=lambda result: result.number)

    def missing(self, results: Sequence[StoredResult]) -> str:
        """Return why nothing fits, where a value is one that no result has; nothing where each has some."""
        for name, wanted in self.filters.items():
            there = {value for each in results for value in _values(each, name)}
            for value in wanted:
                if value not in there:
                    known = ", ".join(map(value_text, sorted(there))) or "none"
                    return f"no result has the {name} {value_text(value)}: there are {known}"
        return ""


def _values(result: StoredResult, name: str) -> set[Any]:
    """Return the values of a result in a selectable field: any number of tags, else at most one value."""
    return {*result.tags} if name == "tag" else {getattr(result, name)} - {None}


def with_numbers(results: Sequence[StoredResult], numbers: Sequence[int]) -> list[StoredResult]:
    """Return the results with these numbers, in their order; raise an error if a number is unknown."""
    known = {each.number for each in results}
    if missing := [number for number in numbers if number not in known]:
        raise InputError(f"no result has the number {missing[0]}: `graphveil results` lists them")
    chosen = (each for each in results if each.number in numbers)
    return sorted(chosen, key=lambda result: result.number)


# What results are sorted by; what has no value comes last.
ORDERS: dict[str, Callable[[StoredResult], Any]] = {
    "number": lambda result: result.number,
    "date": lambda result: result.time,
    "mean": lambda result: result.mean,
    "gain": lambda result: result.gain and result.gain.mean,
    "gain-over-structure": lambda result: result.gain_over_structure and result.gain_over_structure.mean,
    "epsilon": lambda result: result.epsilon,
    "method": lambda result: result.method,
    "data": lambda result: result.data,
    "runs": lambda result: len(result.runs),
}
LARGEST_FIRST = frozenset({"date", "mean", "gain", "gain-over-structure", "runs"})


def sort_results(results: Sequence[StoredResult], by: str, backwards: bool = False) -> list[StoredResult]:
    """Return sorted results. The sort is stable; results without the key come last.

    Parameters
    ----------
    results
        The results.
    by
        A key of `ORDERS`.
    backwards
        Whether to turn the order of the key around.
    """
    if by not in ORDERS:
        raise unknown_name("order", by, ORDERS)
    key = ORDERS[by]
    having = [each for each in results if key(each) is not None]
    lacking = [each for each in results if key(each) is None]
    return sorted(having, key=key, reverse=(by in LARGEST_FIRST) is not backwards) + lacking


def check_tag(name: str, results: Sequence[StoredResult]) -> str:
    """Reject a tag that could be confused with a number or a method."""
    if not TAG.fullmatch(name):
        raise InputError(
            f"a tag has letters, digits, '.', '_' and '-', a letter first, at most 64, got {name!r}"
        )
    if name in {each.method for each in results}:
        raise InputError(f"{name} is a method, so it cannot be a tag: choose another name")
    return name


def find_result(name: str, results: Sequence[StoredResult], among: Selection) -> StoredResult:
    """Return the one result with a number, tag or method; raise an error if there are several.

    Parameters
    ----------
    name
        A result's number, tag or method.
    among
        The selection in which a tag or method is looked for.
    """
    if name.isdecimal():
        (found,) = with_numbers(results, [int(name)])
        return found
    fitting = replace(among, tag=[name]).of(results)
    if not fitting:
        fitting = [each for each in among.of(results) if each.method == name]
    if not fitting:
        known = sorted({tag for each in results for tag in each.tags} | {each.method for each in results})
        raise InputError(
            f"no result here has the number, the tag or the method {name!r}: there are {', '.join(known) or 'none'}; "
            "`graphveil results` lists them"
        )
    if len(fitting) > 1:
        numbers = ", ".join(str(each.number) for each in fitting)
        raise InputError(
            f"{name} may be any of the results {numbers}: name one by its number, or narrow them with --data, --epsilon and so on"
        )
    return fitting[0]


EXPORTS = (".csv", PARQUET, ".json")
KINDS: dict[Kind, tuple[str, ...]] = {
    "integer": ("number", "panel", "runs"),
    "unsigned": ("seed",),
    "number": ("epsilon", "label_epsilon", "link_epsilon", "mean", "low", "high"),
    "summary": SUMMARIES,
    "flag": ("interrupted",),
}
NAMES = (
    *("number", "time", "version", "source", "method", "data", "task", "metric"),
    *("epsilon", "label_epsilon", "link_epsilon", "panel", "mechanism", "backbone", "seed", "runs"),
    *("mean", "low", "high", *SUMMARIES, "structure_name", "verdict", "interrupted"),
    *("tags", "scores", "settings", "data_options"),
)


def write_export(file: Path, results: Sequence[StoredResult]) -> None:
    """Write results to a file of one of the `EXPORTS`."""
    if file.suffix != ".json":
        export_table(results).write(file)
        return
    whole = {"results": [each.listing() for each in results]}
    write_whole(file, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")


def export_table(results: Sequence[StoredResult]) -> Table:
    """Return results as rows of a table; lists and tables are JSON in one cell."""
    kinds = {name: kind for kind, names in KINDS.items() for name in names}
    rows = ([row[name] for name in NAMES] for row in map(_row, results))
    return Table((Column(name, kinds.get(name, "text")) for name in NAMES), rows)


def _row(result: StoredResult) -> dict[str, Any]:
    experiment = result.experiment
    return {name: getattr(result, name, None) for name in NAMES} | {
        "tags": " ".join(result.tags),
        "runs": len(result.runs),
        "scores": json.dumps(result.runs),
        "label_epsilon": experiment.budgets.label_epsilon,
        "link_epsilon": experiment.budgets.link_epsilon,
        "panel": None if result.privacy is None else result.privacy.volunteers,
        "structure_name": result.structure.name if result.structure else None,
        "settings": json.dumps(experiment.settings, sort_keys=True, default=str),
        "data_options": json.dumps(experiment.data_options, sort_keys=True, default=str),
    }
