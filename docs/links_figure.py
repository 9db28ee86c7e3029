"""The figure of private links: a GCN on raw features over what one link costs, from docs/results/links.csv."""

from __future__ import annotations

from collections.abc import Sequence

from docs.results_file import Row, read
from graphveil.experiments.figure import FREE, Chart, ChartPanel, Role, Series
from graphveil.statistics import Summary

NAME = "links"
# Lines on cora, by what stands in the file, and graphs that one mechanism was run on.
MECHANISMS, GRAPHS = ("link-rr", "blink"), ("facebook", "squirrel-filtered")


def links_figure() -> str:
    """One panel with all mechanisms on cora, one with the other graphs; dashed: the same model without edges."""
    rows = read(NAME)
    first = []
    for name in MECHANISMS:
        cora = [row for row in rows if row["data"] == "cora" and row["line"] == name]
        first.append(_series(cora, "mean", f"GCN, {name}", "method"))
    blink = [row for row in rows if row["line"] == "blink"]
    cora = [row for row in blink if row["data"] == "cora"]
    first.append(_series(cora, "edgeless", "the same without edges", "edgeless"))
    first.append(_series(cora, "structure", "structure on blink's graph", "structure"))
    second = []
    for name in GRAPHS:
        graph = [row for row in blink if row["data"] == name]
        label = f"blink, {name}"
        second.append(_series(graph, "mean", label, "method"))
        second.append(_series(graph, "edgeless", "the same without edges", "edgeless", label))
    panels = (_panel("cora", first), _panel("other graphs, blink", second))
    return Chart(panels).drawing().svg_file()


def _panel(title: str, series: Sequence[Series]) -> ChartPanel:
    label = "accuracy on test users (%)"
    return ChartPanel(title, "E, what one link costs", label, tuple(series), limits=FREE)


def _series(rows: Sequence[Row], key: str, label: str, role: Role, mark_of: str = "") -> Series:
    points = [(float(row["column"]), float(row[key])) for row in rows if row.get(key)]
    y = tuple(Summary(mean, None, None) for _, mean in points)
    return Series(label, tuple(x for x, _ in points), y, role=role, mark_of=mark_of)
