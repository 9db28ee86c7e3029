"""The lines of veil's tables: experiments by name, and numbers of them from what `graphveil run --json` wrote.

    python -m docs.veil_lines FOLDER [--source SRC]

takes the numbers of every line whose NAME.json is in the folder, where the code in SRC (src/graphveil of some checkout) wrote it;
`python -m docs.tables --run veil-panel` computes them instead.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.layouts import gain, gained, markdown, number
from docs.results_file import SOURCE, Row, names, read, source_digest, write

PANEL, PRIVATE, REAL = "veil-panel", "veil-private", "veil-real"
TABLES = (PANEL, PRIVATE, REAL)
RUNS, SEED = 5, 0
# How many users have labels: half of them, or 20 a class.
HALF, FEW = "half", "few"
GRAPHS = (
    *("cora", "citeseer", "pubmed", "facebook", "wikipedia"),
    *("twitch", "amazon-computers", "tolokers", "squirrel-filtered", "flickr-small"),
)


@dataclass(frozen=True)
class Line:
    """A line of a table: an experiment, and the name of the file that holds its result."""

    name: str
    data: str
    epsilon: float
    labels: str = HALF
    panel: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    line: str = ""
    column: str = ""

    def row(self) -> Row:
        """The line before anything is computed."""
        options = self.options | ({"split": FEW} if self.labels == FEW else {})
        more: dict[str, Any] = {"data_options": options} if options else {}
        more |= {} if self.panel is None else {"panel": self.panel}
        return {
            "line": self.line or self.data,
            "column": self.column,
            "method": "veil",
            "data": self.data,
            "task": "node",
            "epsilon": f"{self.epsilon:g}",
            "more": json.dumps(more) if more else "",
            "runs": str(RUNS),
            "seed": str(SEED),
            "labels": self.labels,
            "panel": "" if self.panel is None else str(self.panel),
        }

    def check(self, told: dict[str, Any]) -> None:
        """Refuse the result of another experiment."""
        panel = told["privacy"]["panel"]
        found = told["method"], told["data"], told["epsilon"], told["seed"], len(told["runs"])
        assert found == ("veil", self.data, self.epsilon, SEED, RUNS), f"{self.name}: {found}"
        assert (None if panel is None else panel["users"]) == self.panel, f"{self.name}: {panel}"


def _town(name: str, epsilon: float, users: int) -> Line:
    options = {} if users == 4000 else {"users": users}
    return Line(name, "town", epsilon, "3%", None, options, f"town, {users:,} users")


def _panels(name: str, data: str, volunteers: int, labels: str, epsilons: tuple[float, ...]) -> list[Line]:
    return [Line(f"{name}-panel-{e:g}", data, e, labels, volunteers) for e in epsilons]


LINES: dict[str, list[Line]] = {
    PANEL: [
        *_panels("flickr", "flickr-small", 300, HALF, (1.0, 2.0, 4.0)),
        *_panels("cocs", "co-cs", 100, FEW, (2.0, 4.0)),
        *_panels("citeseer", "citeseer", 300, HALF, (4.0,)),
        *_panels("pubmed", "pubmed", 300, HALF, (4.0,)),
    ],
    PRIVATE: [
        _town("town-2", 2.0, 4000),
        _town("town-4", 4.0, 4000),
        _town("town64k-1", 1.0, 64000),
        *(Line(f"cocs-private-{e:g}", "co-cs", e, FEW) for e in (2.0, 4.0, 8.0)),
        *(Line(f"cophy-private-{e:g}", "co-phy", e, FEW) for e in (2.0, 4.0)),
        Line("pubmed-half-4", "pubmed", 4.0),
    ],
    REAL: [
        Line(f"{data}-{labels}-{e:g}", data, e, labels, column=f"{labels}, ε = {e:g}")
        for data in GRAPHS
        for labels in (HALF, FEW)
        for e in (1.0, 4.0)
    ],
}

# The README's lines, and who teaches there.
SHORT = {
    "town-2": "users, privately",
    "cocs-private-4": "users, privately",
    "cocs-panel-4": "100 volunteers",
    "flickr-panel-2": "300 volunteers",
    "flickr-panel-4": "300 volunteers",
}


def declared(table: str) -> list[Row]:
    """All lines of a table, with the numbers that its file has."""
    return [row for _, row in _known(table)]


def _known(table: str) -> list[tuple[Line, Row]]:
    had = {_experiment(row): row for row in read(table)} if table in names() else {}
    return [(line, had.get(_experiment(line.row()), line.row())) for line in LINES[table]]


def _experiment(row: Row) -> tuple[str, ...]:
    return tuple(row[key] for key in ("method", "data", "epsilon", "more", "runs", "seed"))


def computed(rows: list[Row]) -> list[Row]:
    """The lines that have numbers."""
    return [row for row in rows if row.get("version")]


def short_table() -> str:
    """The README's table: some lines of the others."""
    found = {line.name: row for table in TABLES for line, row in _known(table)}
    lines = []
    for name, teachers in SHORT.items():
        row = found[name]
        if row.get("version"):
            numbers = (
                number("structure"),
                number("mean"),
                gain,
                *map(gained, ("over_structure", "over_unasked")),
            )
            lines.append([row["line"], row["labels"], teachers, row["epsilon"], *(w(row) for w in numbers)])
    head = ["graph", "labels", "who teaches", "ε", "structure", "veil"]
    head += ["over its control", "over structure", "over volunteers alone"]
    return markdown(head, lines, left=3)


def take(folder: Path, source: str) -> None:
    """Write the files of all tables, with the numbers of every result that is in a folder."""
    from docs.rerun import summarized

    for table in TABLES:
        rows = []
        for line, row in _known(table):
            file = folder / f"{line.name}.json"
            if file.exists():
                told = json.loads(file.read_text(encoding="utf-8"))
                line.check(told)
                row = line.row() | summarized(told) | {"version": told["version"], "source": source}
            rows.append(row)
        missing = [line.name for line, row in zip(LINES[table], rows, strict=True) if not row.get("version")]
        print(f"{table}: {len(computed(rows))} of {len(rows)} lines", *missing)
        write(table, computed(rows))


def main() -> None:
    """Take numbers from a folder."""
    parser = argparse.ArgumentParser(prog="python -m docs.veil_lines", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder of the code that wrote them")
    asked = parser.parse_args()
    take(asked.folder, source_digest(asked.source))


if __name__ == "__main__":
    main()
