"""Printed tables of the documents: a file of results for each, and how it becomes a table beside the printed numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from docs.layouts import Write, gain, markdown
from docs.results_file import Row, read
from graphveil.experiments.measures import SCORE, find_measure
from graphveil.experiments.papers import choose_cells, find_paper
from graphveil.experiments.study import Cell, Study
from graphveil.number_format import NONE, Unit
from graphveil.statistics import Summary


@dataclass(frozen=True)
class Chosen:
    """What of a printed table was run in full: the cells on some graphs and in some columns, all where none is named."""

    graphs: tuple[str, ...] = ("cora",)
    columns: tuple[str, ...] = ()


BOTH = Chosen(("cora", "citeseer"))
# The tables that were run in full, PAPER/TABLE; files are named PAPER-TABLE.
FULL: dict[str, Chosen] = {
    "upgnet/table2": BOTH,
    "upgnet/table4": BOTH,
    "ppgnn/table3": BOTH,
    "ppgnn/fig5": Chosen(),
    "togl/table3": Chosen(columns=("ε = 1",)),
    "togl/table4": Chosen(),
    "togl/table5": Chosen(columns=("1", "∞")),
    "togl/table6": Chosen(),
    "togl/table7": Chosen(("co-phy",)),
    "togl/table8": Chosen(("co-phy",)),
    "togl/table9": Chosen(),
    "togl/table10": Chosen(),
    "togl/table11": Chosen(),
    "togl/table12": Chosen(),
    "togl/table13": Chosen(),
    "togl/table14": Chosen(),
    "togl/table15": Chosen(),
    "togl/table16": Chosen(),
    "togl/table17": BOTH,
    "togl/table18": BOTH,
    "ldpge/table3": BOTH,
    "ldpge/table3-infinity": BOTH,
    "heterorr/fig13": Chosen(columns=("ε of features 1",)),
    "heterorr/fig14": Chosen(("town-labels",), ("ε of features 1",)),
}
FIELDS = ("method", "data", "task", "runs", "seed", "epsilon")
# Parts that a result may have beside its own number, and what heads them.
PARTS = {"control": "control", "structure": "structure", "edgeless": "without private links"}


def table(printed: str) -> Study:
    """The cells of a printed table, PAPER/TABLE, that were run in full."""
    chosen = FULL[printed]
    (found,) = choose_cells(find_paper(printed).tables, chosen.graphs, chosen.columns)
    return found


def lines(printed: str) -> list[Row]:
    """The lines of a printed table's file, PAPER/TABLE, before anything is computed."""
    study = table(printed)
    return [_line(cell, study.spread) for cell in study.cells]


def _line(cell: Cell, spread: str) -> Row:
    spec, (row, column) = cell.experiment, cell.labels
    more = {name: value for name, value in spec.chosen.items() if name not in FIELDS}
    more |= {"settings": spec.settings} if spec.settings else {}
    more |= {} if spec.control else {"control": False}
    return {
        "line": row,
        "column": column,
        "method": spec.method,
        "data": spec.data,
        "task": spec.task,
        "epsilon": "" if spec.budgets.epsilon is None else f"{spec.budgets.epsilon:g}",
        "more": json.dumps(more, ensure_ascii=False),
        "runs": str(spec.runs),
        "seed": str(spec.seed),
        "printed": "" if cell.printed is None else f"{cell.printed:g}",
        "printed_spread": "" if cell.printed_spread is None else f"{cell.printed_spread:g}",
        "spread_form": spread,
        **({} if cell.measure.name == SCORE else {"measure": cell.measure.name}),
    }


def unit(row: Row) -> Unit:
    """How the numbers of a line are printed; in a file they are in that unit already."""
    return replace(find_measure(row.get("measure") or SCORE).unit, factor=1.0)


def _value(row: Row, key: str) -> float | None:
    return float(row[key]) if row.get(key) else None


def around(key: str, spread: str) -> Write:
    """A number with what stands behind ±, or a dash."""
    return lambda row: unit(row).with_spread(_value(row, key), _value(row, spread))


def ours(row: Row) -> str:
    """Our number with its interval."""
    mean = _value(row, "mean")
    return (
        NONE if mean is None else unit(row).interval(Summary(mean, _value(row, "low"), _value(row, "high")))
    )


def beside(part: str) -> Write:
    """The number of a part, or a dash."""
    return around(part, "")


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
        columns.append(("ours", ours))
        for part, head in PARTS.items():
            columns += [(head, beside(part))] if any(row.get(part) for row in rows) else []
            columns += [("gain", gain)] if part == "control" and any(row["gain"] for row in rows) else []
        noted = any(row.get("note") for row in rows)
        columns += [("", lambda row: row["note"])] if noted else []
        before, body = "", []
        for row in rows:
            label = "" if row["line"] == before else row["line"]
            before = row["line"]
            body.append([label, row["column"], *(write(row) for _, write in columns)])
        table = markdown(["", "", *(head for head, _ in columns)], body, left=2)
        return table.replace(" ---: |\n", " --- |\n", 1) if noted else table


PRINTED = {table.name: table for table in map(PrintedTable, FULL)}
