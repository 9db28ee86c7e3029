"""The figure of private links: a GCN on raw features over what one link costs, from docs/results/links.csv."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docs.results_file import Row, read
from graphveil.experiments.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing, line_style

NAME = "links"
# Lines on cora, by what stands in the file, and graphs that one mechanism was run on.
MECHANISMS, GRAPHS = ("link-rr", "blink"), ("facebook", "squirrel-filtered")


def links_figure() -> str:
    """One panel with all mechanisms on cora, one with the other graphs; dashed: the same model without edges."""
    rows = read(NAME)
    drawing = Drawing((1.7 * WIDTH, HEIGHT), panels=2)
    first, second = drawing.axes
    for place, name in enumerate(MECHANISMS):
        cora = [row for row in rows if row["data"] == "cora" and row["line"] == name]
        _draw(first, cora, "mean", f"GCN, {name}", line_style("method", place))
    blink = [row for row in rows if row["line"] == "blink"]
    cora = [row for row in blink if row["data"] == "cora"]
    _draw(first, cora, "edgeless", "the same without edges", line_style("edgeless"))
    _draw(first, cora, "structure", "structure on blink's graph", line_style("structure"))
    for place, name in enumerate(GRAPHS, len(MECHANISMS)):
        graph = [row for row in blink if row["data"] == name]
        style = line_style("method", place)
        _draw(second, graph, "mean", f"blink, {name}", style)
        _draw(
            second,
            graph,
            "edgeless",
            "the same without edges",
            line_style("edgeless") | {"marker": style["marker"], "fillstyle": "none"},
        )
    for axes, title in ((first, "cora"), (second, "other graphs, blink")):
        axes.set_xlabel("E, what one link costs")
        axes.set_title(title, fontsize=TITLE_SIZE)
    first.set_ylabel("accuracy on test users (%)")
    drawing.legend(columns=3, everywhere=True)
    return drawing.svg_file()


def _draw(axes: Any, rows: Iterable[Row], key: str, label: str, style: dict[str, Any]) -> None:
    points = [(float(row["column"]), float(row[key])) for row in rows if row.get(key)]
    if points:
        axes.plot(*zip(*points, strict=True), label=label, **style)
