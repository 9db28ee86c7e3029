"""How results become tables: one line of the file each, or lines crossed with columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from docs.results_file import EARLIER, Row, read
from graphveil.audit.findings import exact_epsilon
from graphveil.experiments.table import Column, Table

Write = Callable[[Row], str]
EARLIER_NOTE = "From an earlier version of the code, of which only the numbers printed here were kept."
SOME_EARLIER = "Lines marked ° are from an earlier version of the code, of which only the numbers printed here were kept."
MARK = " °"


def text(key: str) -> Write:
    """What the file has."""
    return lambda row: row[key]


def exact(row: Row) -> str:
    """An exact ε beside its budget, or the words that the file has."""
    return exact_epsilon(float(row["exact"]), float(row["epsilon"])) if row["epsilon"] else row["exact"]


def number(key: str, digits: int = 1) -> Write:
    """A number with so many digits behind the point, or nothing."""
    return lambda row: f"{float(row[key]):.{digits}f}" if row.get(key) else ""


def signed(value: float) -> str:
    """A difference with its sign, unless it rounds to nothing.

    >>> signed(0.25), signed(-0.04)
    ('+0.2', '0.0')
    """
    shown = f"{value:+.1f}"
    return "0.0" if float(shown) == 0 else shown


def gained(key: str) -> Write:
    """A difference with half of its interval, or a dash."""

    def write(row: Row) -> str:
        if not row.get(key):
            return "-"
        if not row[f"{key}_low"]:
            return signed(float(row[key]))
        half = (float(row[f"{key}_high"]) - float(row[f"{key}_low"])) / 2
        return f"{signed(float(row[key]))} ± {half:.1f}"

    return write


def gain(row: Row) -> str:
    """What was gained over the control, with half of its interval."""
    return gained("gain")(row)


def edge_gain(row: Row) -> str:
    """What a private graph gains over none, with half of its interval where there are several runs."""
    return gained("edge_gain")(row)


def around(key: str) -> Write:
    """A mean with half of its interval, or a dash."""
    ends = ("low", "high") if key == "mean" else (f"{key}_low", f"{key}_high")

    def write(row: Row) -> str:
        if not row[key]:
            return "-"
        half = (float(row[ends[1]]) - float(row[ends[0]])) / 2
        return f"{float(row[key]):.1f} ± {half:.1f}"

    return write


def interval(key: str) -> Write:
    """A mean with its interval, or a dash."""
    ends = ("low", "high") if key == "mean" else (f"{key}_low", f"{key}_high")

    def write(row: Row) -> str:
        if not row[key]:
            return "-"
        if not row[ends[0]]:
            return f"{float(row[key]):.1f}"
        return f"{float(row[key]):.1f} [{', '.join(f'{float(row[end]):.1f}' for end in ends)}]"

    return write


def markdown(head: list[str], lines: list[list[str]], left: int) -> str:
    """A table whose first columns are text and whose others are numbers."""
    columns = [Column(name, "text" if place < left else "number") for place, name in enumerate(head)]
    return Table(columns, lines).markdown()


def _noted(table: str, rows: list[Row]) -> str:
    earlier = [row["version"] == EARLIER for row in rows]
    note = EARLIER_NOTE if earlier and all(earlier) else SOME_EARLIER if any(earlier) else ""
    return f"{table}\n\n{note}" if note else table


@dataclass(frozen=True)
class Listed:
    """A line of the table is a line of the file; the first ``left`` columns are text."""

    name: str
    columns: tuple[tuple[str, Write], ...]
    left: int = 2

    def table(self) -> str:
        """The table in Markdown, and below it whether it has to be computed again."""
        rows = read(self.name)
        some = len({row["version"] == EARLIER for row in rows}) > 1
        lines = []
        for row in rows:
            cells = [write(row) for _, write in self.columns]
            cells[0] += MARK if some and row["version"] == EARLIER else ""
            lines.append(cells)
        return _noted(markdown([head for head, _ in self.columns], lines, self.left), rows)


@dataclass(frozen=True)
class Crossed:
    """Lines crossed with columns, each cell written alike; ``corner`` heads the lines.

    ``structure`` adds what asking nobody gives, as a last column.
    """

    name: str
    corner: str
    cell: Write
    left: int = 1
    structure: bool = False

    def table(self) -> str:
        """The table in Markdown, and below it whether it has to be computed again."""
        rows = read(self.name)
        found = {(row["line"], row["column"]): row for row in rows}
        columns = list(dict.fromkeys(row["column"] for row in rows))
        lines = []
        for line in dict.fromkeys(row["line"] for row in rows):
            here = [found.get((line, column)) for column in columns]
            cells = [self.cell(row) if row else "" for row in here]
            lines.append([line, *cells, *([_structure(here)] if self.structure else [])])
        head = [self.corner, *columns, *(["structure"] if self.structure else [])]
        return _noted(markdown(head, lines, self.left), rows)


def _structure(rows: list[Row | None]) -> str:
    return next((number("structure")(row) for row in rows if row and row["structure"]), "")


def beside_bound(row: Row) -> str:
    """How often an attack is right, and beside it its control and what the budget allows."""
    return f"{number('mean')(row)} ({number('control')(row)}; {number('bound')(row)})"


def beside_public(row: Row) -> str:
    """A score, and beside it its control and the same with public links alone."""
    return f"{number('mean')(row)} ({number('control')(row)}, {number('edgeless')(row)})"


def beside_nobody(row: Row) -> str:
    """What was gained over asking nobody, with half of its interval, and beside it what was gained over the control."""
    return f"{gained('over_structure')(row)} ({signed(float(row['gain']))})"


ALL = {"mean": number("mean"), "control": number("control"), "structure": number("structure")}
BESIDE = (("control", ALL["control"]), ("gain", gain), ("structure", ALL["structure"]))
VEIL = (
    ("graph", text("line")),
    ("labels", text("labels")),
    ("ε", text("epsilon")),
    ("veil", ALL["mean"]),
    ("over its control", gain),
    ("structure", ALL["structure"]),
    ("over structure", gained("over_structure")),
)
LAYOUTS: dict[str, Listed | Crossed] = {
    layout.name: layout
    for layout in (
        Listed(
            "demo",
            (
                ("budget", text("line")),
                ("method", text("method")),
                ("accuracy", around("mean")),
                ("control", around("control")),
                ("gain", gain),
                ("over structure", gained("over_structure")),
                ("exact ε", exact),
            ),
        ),
        Listed(
            "reach",
            (
                ("method", text("method")),
                ("data", text("data")),
                ("ε", text("epsilon")),
                ("accuracy", ALL["mean"]),
                *BESIDE,
            ),
        ),
        Listed(
            "veil-panel",
            (
                *VEIL[:2],
                ("volunteers", text("panel")),
                *VEIL[2:],
                ("over volunteers alone", gained("over_unasked")),
            ),
        ),
        Listed("veil-private", VEIL),
        Crossed("veil-real", "graph", beside_nobody),
        Crossed("hops", "K", ALL["mean"]),
        Listed(
            "links",
            (
                ("data", text("data")),
                ("links by", text("line")),
                ("E a link", text("column")),
                ("each end", lambda row: f"{float(row['column']) / 2:g}"),
                ("GCN", interval("mean")),
                ("no edges", number("edgeless")),
                ("gain over no edges", edge_gain),
                ("structure", ALL["structure"]),
            ),
            left=2,
        ),
        Listed(
            "ldpge",
            (
                ("task", text("task")),
                ("data", text("data")),
                ("ε", text("epsilon")),
                ("ldpge", ALL["mean"]),
                *BESIDE,
                ("printed", number("printed")),
            ),
        ),
        Listed(
            "ppgnn",
            (
                ("data", text("data")),
                ("ε, strictest", text("epsilon")),
                ("ppgnn", ALL["mean"]),
                *BESIDE,
                ("printed", number("printed")),
            ),
            left=1,
        ),
        Listed(
            "togl-town",
            (
                ("", text("line")),
                ("accuracy", ALL["mean"]),
                ("control", ALL["control"]),
                ("gain over the control", gain),
            ),
            left=1,
        ),
        Listed(
            "heterorr",
            (
                ("data", text("data")),
                ("", text("line")),
                ("ε", text("epsilon")),
                ("accuracy", ALL["mean"]),
                *BESIDE,
            ),
        ),
        Crossed("heterorr-edges", "ρ, ε of a link", beside_public, structure=True),
        Listed(
            "attributes",
            (
                ("data", text("data")),
                ("ε", text("epsilon")),
                ("k", text("top")),
                ("agreement", number("agreement")),
                ("control", number("agreement_control")),
                ("chance", number("agreement_chance", 2)),
                ("Jaccard", number("jaccard", 2)),
                ("control", number("jaccard_control", 2)),
                ("chance", number("jaccard_chance", 2)),
            ),
            left=1,
        ),
        Crossed("labels", "label ε", ALL["mean"], left=0, structure=True),
        Listed(
            "norms",
            (
                ("method", text("method")),
                ("data", text("data")),
                ("ε each", text("epsilon")),
                ("bound", text("bound")),
                ("accuracy", ALL["mean"]),
                ("norm error", number("norm_error", 3)),
                ("constant guess", number("norm_constant", 3)),
            ),
        ),
        Crossed("attacks", "", ALL["mean"]),
        Crossed("attack-bounds", "attack: against", beside_bound),
    )
}
