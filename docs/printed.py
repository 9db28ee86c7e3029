"""Printed tables of the documents: a file of results for each, and how it becomes a table beside the printed numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from docs.layouts import Write, gain, interval, markdown, number
from docs.results_file import Row, read
from graphveil.experiments.papers.paper import PaperCell, find_tables, only

# The tables that were run in full, and the graphs; files are named PAPER-TABLE.
GRAPHS = ("cora", "citeseer")
FULL = ("upgnet/table2", "upgnet/table4", "ppgnn/table3", "togl/table17", "togl/table18", "ldpge/table3")
FIELDS = ("method", "data", "task", "runs", "seed", "epsilon")


def lines(printed: str) -> list[Row]:
    """The lines of a printed table's file, PAPER/TABLE, before anything is computed."""
    _, tables = find_tables(printed)
    return [_line(cell) for table in only(tables, GRAPHS) for cell in table.cells]


def _line(cell: PaperCell) -> Row:
    spec = cell.spec
    more = {name: value for name, value in spec.chosen.items() if name not in FIELDS}
    more |= {"settings": spec.settings} if spec.settings else {}
    return {
        "line": cell.row,
        "column": cell.column,
        "method": spec.method,
        "data": spec.data,
        "task": spec.task,
        "epsilon": "" if spec.budgets.epsilon is None else f"{spec.budgets.epsilon:g}",
        "more": json.dumps(more, ensure_ascii=False),
        "runs": str(spec.runs),
        "seed": str(spec.seed),
        "printed": "" if cell.printed is None else f"{cell.printed:g}",
        "printed_spread": "" if cell.printed_spread is None else f"{cell.printed_spread:g}",
        "spread_form": cell.spread,
    }


def around(key: str, spread: str) -> Write:
    """A number with what stands behind ±, or a dash."""

    def write(row: Row) -> str:
        if not row[key]:
            return "-"
        half = f" ± {float(row[spread]):.1f}" if row[spread] else ""
        return f"{float(row[key]):.1f}{half}"

    return write


@dataclass(frozen=True)
class PrintedTable:
    """A line for each printed number: theirs, ours with its interval, the control, what was gained, and structure."""

    printed: str

    @property
    def name(self) -> str:
        """That of its file and of its place on a page."""
        return self.printed.replace("/", "-")

    def table(self) -> str:
        """The table in Markdown."""
        rows = read(self.name)
        columns: list[tuple[str, Write]] = [("printed", around("printed", "printed_spread"))]
        if any(row["spread_form"] for row in rows):
            columns.append(("ours likewise", around("mean", "spread")))
        columns += [("ours", interval("mean")), ("control", number("control")), ("gain", gain)]
        columns += [("structure", number("structure"))]
        before, body = "", []
        for row in rows:
            label = "" if row["line"] == before else row["line"]
            before = row["line"]
            body.append([label, row["column"], *(write(row) for _, write in columns)])
        return markdown(["", "", *(head for head, _ in columns)], body, left=2)


PRINTED = {table.name: table for table in map(PrintedTable, FULL)}
