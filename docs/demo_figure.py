"""The README's figure of the demonstration, from docs/results/demo.csv."""

from __future__ import annotations

from docs.results_file import Row, read
from graphveil.experiments.figure import Series, epsilon_chart
from graphveil.number_format import counted
from graphveil.statistics import Summary

NAME = "demo"


def demo_figure() -> str:
    """What `graphveil demo` draws, as an SVG file."""
    rows = read(NAME)
    lines = []
    for method in ("veil", "base"):
        its = sorted((row for row in rows if row["method"] == method), key=lambda row: float(row["epsilon"]))
        epsilons = tuple(float(row["epsilon"]) for row in its)
        lines.append(Series(method, epsilons, tuple(_summary(row) for row in its), role="method"))
        blinded = tuple(_summary(row, "control", "control_") for row in its)
        lines.append(Series(f"{method}, control (ε = 0)", epsilons, blinded, role="control"))
    (nobody,) = (row for row in rows if row["method"] == "structure")
    lines.append(Series("structure: nobody asked", (), (_summary(nobody),), role="structure"))
    (plain,) = (row for row in rows if row["method"] == "nonprivate")
    lines.append(Series("no privacy", (), (_summary(plain),), role="no privacy"))
    return epsilon_chart(lines, f"town, {counted(int(rows[0]['runs']), 'run')}").drawing().svg_file()


def _summary(row: Row, mean: str = "mean", ends: str = "") -> Summary:
    """The file has percent."""
    low, middle, high = (float(row[key]) / 100 for key in (f"{ends}low", mean, f"{ends}high"))
    return Summary(middle, low, high)
