"""Kept results as a table, and with their comparison as one page."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.experiments.runs.comparison import Comparison
from graphveil.experiments.runs.format import NONE, counted
from graphveil.experiments.runs.records import Kept
from graphveil.experiments.show.headline import results_headline
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.show.plot import accuracy_over_epsilon
from graphveil.experiments.show.report import FOOTER, READING, graph_name, lines, rows
from graphveil.experiments.store.reuse import SHOWN
from graphveil.experiments.table import Table

NUMBER, GRAPH, TASK, TAGS, DATE = "no.", "graph", "task", "tags", "date"
RESULT, METHOD, SOURCE = "result", "method", "source"
# What a page has room for, and a terminal has not.
LONG = frozenset({"verdict", "privacy"})


def results_table(kept: Sequence[Kept], long: bool = False) -> Table:
    """One row a result, in this order; columns that say nothing about any of them are left out.

    A ``long`` one is for a page: it has verdict and privacy, the number beside the method, and neither graph nor task, which
    stand above it.
    """
    told = rows([each.record for each in kept])
    columns = {} if long else {NUMBER: [str(each.number) for each in kept]}
    if not long:
        columns[GRAPH] = [graph_name(each.record) for each in kept]
    if not long and any(each.record.task != "node" for each in kept):
        columns[TASK] = [each.record.task for each in kept]
    for place, name in enumerate(told.head):
        if long or name not in LONG:
            columns[name] = [row[place] for row in told.rows]
    if long:
        # One column, so that a narrow screen can keep both in sight.
        named = [f"{each.number} {method}" for each, method in zip(kept, columns.pop(METHOD), strict=True)]
        columns = {RESULT: named, **columns}
    if len({each.record.identity for each in kept}) < len(kept):
        # What tells results of the same experiment apart.
        columns[SOURCE] = [each.source[:SHOWN] or NONE for each in kept]
    if any(each.tags for each in kept):
        columns[TAGS] = [", ".join(each.tags) or NONE for each in kept]
    columns[DATE] = [(each.record.time or NONE)[: len("2026-01-01")] for each in kept]
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)), told.numbers | {NUMBER, DATE})


def results_page(kept: Sequence[Kept], title: str) -> str:
    """Results on a page."""
    said = results_headline([each.record for each in kept])
    return page(
        title, said, [*_by_graph(kept), READING], FOOTER, about=f"{counted(len(kept), 'kept result')}."
    )


def comparison_page(comparison: Comparison, title: str) -> str:
    """How results compare, on a page, and below it the results."""
    kept = comparison.results
    about = f"{counted(len(kept), 'kept result')}, {counted(len(comparison.pairs), 'comparison')}."
    compared = Section("Comparison", table=comparison.table(), notes=tuple(comparison.sentences))
    return page(title, comparison.headline, [compared, *_by_graph(kept), READING], FOOTER, about=about)


def _by_graph(kept: Sequence[Kept]) -> list[Section]:
    """A figure, where there are several budgets, and a table for each graph and task, in the order in which they come."""
    groups: dict[str, list[Kept]] = {}
    for each in kept:
        record = each.record
        groups.setdefault(f"{graph_name(record)}: {record.metric}, {record.task}", []).append(each)
    return [
        Section(name, svg=_curves(name, group), table=results_table(group, long=True))
        for name, group in groups.items()
    ]


def _curves(name: str, kept: Sequence[Kept]) -> str:
    drawn = lines([each.record for each in kept])
    return accuracy_over_epsilon(drawn, name, kept[0].record.metric) if drawn else ""
