"""The README's figure of the demonstration, from docs/results/demo.csv."""

from __future__ import annotations

from docs.results_file import Row, read
from graphveil.experiments.figure import Line, accuracy_drawing
from graphveil.experiments.statistics import Summary
from graphveil.number_format import counted

NAME = "demo"


def demo_figure() -> str:
    """What `graphveil demo` draws, as an SVG file."""
    rows = read(NAME)
    lines = []
    for method in ("veil", "base"):
        its = sorted((row for row in rows if row["method"] == method), key=lambda row: float(row["epsilon"]))
        epsilons = tuple(float(row["epsilon"]) for row in its)
        lines.append(Line(method, epsilons, tuple(_summary(row) for row in its)))
        blinded = tuple(_summary(row, "control", "control_") for row in its)
        lines.append(Line(f"{method}, control (ε = 0)", epsilons, blinded, "control"))
    (nobody,) = (row for row in rows if row["method"] == "structure")
    lines.append(Line("structure: nobody asked", (), (_summary(nobody),), "structure"))
    (plain,) = (row for row in rows if row["method"] == "nonprivate")
    lines.append(Line("no privacy", (), (_summary(plain),), "no privacy"))
    return accuracy_drawing(lines, f"town, {counted(int(rows[0]['runs']), 'run')}").svg_file()


def _summary(row: Row, mean: str = "mean", ends: str = "") -> Summary:
    """The file has percent."""
    low, middle, high = (float(row[key]) / 100 for key in (f"{ends}low", mean, f"{ends}high"))
    return Summary(middle, low, high)
