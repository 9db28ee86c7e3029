"""Results behind the tables of the documentation: one CSV a table, one line a cell.

Scores are in percent. ``more`` holds the other fields of the experiment (a `Experiment`) as JSON. ``version`` and ``source`` say
which code computed a line: the version of graphveil and a digest of its source, or `EARLIER` and nothing where a number was
only ever printed, with as many digits as are here. The experiment of such a line is what the text around it said; they are
to be computed again.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("results")
SOURCE = Path(__file__).parents[1] / "src" / "graphveil"
EARLIER = "earlier"
# What every file has; some have more.
COLUMNS = (
    *("line", "column", "method", "data", "task", "epsilon", "more", "runs", "seed"),
    *("mean", "low", "high", "control", "control_low", "control_high", "gain", "gain_low", "gain_high"),
    *("structure", "structure_low", "structure_high", "printed", "version", "source"),
)
Row = dict[str, str]


def read(name: str) -> list[Row]:
    """The lines of a table's file."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(name: str, rows: list[Row]) -> None:
    """Write the lines of a table's file: what every file has, and what its lines have besides."""
    columns = list(dict.fromkeys([*COLUMNS, *(key for row in rows for key in row)]))
    with (FOLDER / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def names() -> list[str]:
    """The tables that have a file."""
    return sorted(file.stem for file in FOLDER.glob("*.csv"))


def source_digest(folder: Path | None = None) -> str:
    """A digest of all that graphveil is computed by: its files, by name and content."""
    source = SOURCE if folder is None else folder
    whole = hashlib.blake2b(digest_size=6)
    for file in sorted(source.rglob("*")):
        if file.suffix in (".py", ".toml"):
            whole.update(file.relative_to(source).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()


def experiment(row: Row) -> dict[str, Any]:
    """The fields of the experiment of a line, as `Experiment` takes them."""
    fields: dict[str, Any] = {
        "method": row["method"],
        "data": row["data"],
        "task": row["task"] or "node",
        "runs": int(row["runs"]),
        "seed": int(row["seed"]),
        **json.loads(row["more"] or "{}"),
    }
    if row["epsilon"]:
        fields["epsilon"] = float(row["epsilon"])
    if "budgets" in fields:
        fields["budgets"] = tuple(fields["budgets"])
    return fields
