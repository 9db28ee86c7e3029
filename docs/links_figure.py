"""The figure of private links: a GCN on raw features over what one link costs, from docs/results/links.csv."""

from __future__ import annotations

from collections.abc import Iterable

from docs.results_file import Row, read
from graphveil.experiments.show.figure import COLOURS, TITLE_SIZE, Drawing

NAME = "links"
# Lines on cora, by what stands in the file, and graphs that one mechanism was run on.
MECHANISMS, GRAPHS = ("link-rr", "blink"), ("facebook", "squirrel-filtered")
DARK = "#444444"


def links_figure() -> str:
    """One panel with all mechanisms on cora, one with the other graphs; dashed: the same model without edges."""
    rows = read(NAME)
    drawing = Drawing((9.6, 4.2), panels=2)
    first, second = drawing.axes
    for name, colour in zip(MECHANISMS, (COLOURS[0], COLOURS[3]), strict=True):
        cora = [row for row in rows if row["data"] == "cora" and row["line"] == name]
        _draw(first, cora, "mean", "-o", colour, f"GCN, {name}")
    blink = [row for row in rows if row["line"] == "blink"]
    cora = [row for row in blink if row["data"] == "cora"]
    _draw(first, cora, "edgeless", "--", DARK, "the same without edges")
    _draw(first, cora, "structure", ":", DARK, "structure on blink's graph")
    for name, colour in zip(GRAPHS, (COLOURS[0], COLOURS[3]), strict=True):
        graph = [row for row in blink if row["data"] == name]
        _draw(second, graph, "mean", "-o", colour, name)
        _draw(second, graph, "edgeless", "--", colour, "")
    for axes, title in ((first, "cora"), (second, "other graphs, blink")):
        axes.set_xlabel("E, what one link costs")
        axes.set_title(title, fontsize=TITLE_SIZE)
        axes.grid(alpha=0.25)
    second.legend(frameon=False)
    first.set_ylabel("accuracy on test users (%)")
    drawing.legend(columns=3)
    return drawing.svg()


def _draw(axes: object, rows: Iterable[Row], key: str, style: str, colour: str, label: str) -> None:
    points = [(float(row["column"]), float(row[key])) for row in rows if row.get(key)]
    if points:
        axes.plot(*zip(*points, strict=True), style, color=colour, label=label or None)  # type: ignore[attr-defined]
