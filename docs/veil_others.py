"""The best of the other private methods beside veil at ε = 4, one line a graph and split.

    python -m docs.veil_others FOLDER [--source SRC]

takes what `graphveil run METHOD --data GRAPH --epsilon 4 --no-control --json` wrote: GRAPH.LABELS.METHOD.RUNS.json, LABELS half or
few (`--set data.split=few`), RUNS 1, or 5 where one run was close. veil's five runs are those of its own table. Lines that the folder
has no file of stay as they are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from docs.layouts import markdown
from docs.results_file import Row, read, source_digest, write
from docs.veil_lines import GRAPHS, REAL

NAME = "veil-others"
METHODS = ("base", "lpgnn", "solitude", "ldpge", "upgnet", "ppgnn", "togl", "heterorr")


def others_table() -> str:
    """A line for each graph and split: veil, and the other methods that come nearest."""
    lines = []
    for graph in GRAPHS:
        for labels in ("half", "few"):
            found = [row for row in read(NAME) if (row["data"], row["labels"]) == (graph, labels)]
            if any(row["method"] != "veil" for row in found):
                lines.append(_line(graph, labels, found))
    heads = [
        "graph",
        "labels",
        "next best",
        "of",
        "its one run",
        "veil's one run",
        "five runs each",
        "veil's five runs",
    ]
    return markdown(heads, lines, 3)


def _line(graph: str, labels: str, found: list[Row]) -> list[str]:
    first = {row["method"]: float(row["mean"]) for row in found if row["runs"] == "1"}
    own = first.pop("veil")
    best = max(first, key=lambda method: first[method])
    five = [row for row in found if row["runs"] == "5"]
    whole = next(
        row for row in read(REAL) if (row["data"], row["labels"], row["epsilon"]) == (graph, labels, "4")
    )
    others = "; ".join(f"{row['method']} {_interval(row)}" for row in sorted(five, key=_method))
    close = [others, _interval(whole)] if five else ["-", "-"]
    return [graph, labels, best, str(len(first)), f"{first[best]:.1f}", f"{own:.1f}", *close]


def _method(row: Row) -> int:
    return METHODS.index(row["method"])


def _interval(row: Row) -> str:
    return f"{float(row['mean']):.1f} [{float(row['low']):.1f}, {float(row['high']):.1f}]"


def taken(folder: Path, source: str) -> list[Row]:
    """The lines of all files of a folder, and those of before that it has no file of."""
    before = {(row["data"], row["labels"], row["method"], row["runs"]): row for row in read(NAME)}
    rows = []
    for graph in GRAPHS:
        for labels in ("half", "few"):
            for method in ("veil", *METHODS):
                for runs in (1, 5):
                    file = folder / f"{graph}.{labels}.{method}.{runs}.json"
                    kept = before.get((graph, labels, method, str(runs)))
                    if file.exists():
                        rows.append(_row(json.loads(file.read_text(encoding="utf-8")), labels, runs, source))
                    elif kept is not None:
                        rows.append(kept)
    return rows


def _row(told: dict[str, Any], labels: str, runs: int, source: str) -> Row:
    assert (told["epsilon"], told["seed"], len(told["runs"])) == (4.0, 0, runs), told["method"]
    numbers = {key: "" if told[key] is None else f"{100 * told[key]:.2f}" for key in ("mean", "low", "high")}
    more = {"control": False} | ({"data_options": {"split": "few"}} if labels == "few" else {})
    about = {"line": told["data"], "column": f"{labels}, {told['method']}", "method": told["method"]}
    about |= {
        "data": told["data"],
        "task": "node",
        "epsilon": "4",
        "more": json.dumps(more),
        "labels": labels,
    }
    return about | {"runs": str(runs), "seed": "0", **numbers, "version": told["version"], "source": source}


def main() -> None:
    """Take what is in a folder."""
    parser = argparse.ArgumentParser(prog="python -m docs.veil_others", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", type=Path, help="src/graphveil of the checkout that computed them")
    asked = parser.parse_args()
    rows = taken(asked.folder, source_digest(asked.source))
    write(NAME, rows)
    print(f"{NAME}: {len(rows)} lines")


if __name__ == "__main__":
    main()
