"""How lines are drawn, the same in every figure: a colour and a dash for each role, a mark for each of several methods."""

from __future__ import annotations

from typing import Any, Literal

from graphveil.experiments.show.colours import CONTROL, FAINT, INK, LIMIT, LINES, NO_PRIVACY, STRUCTURE

Role = Literal["method", "control", "structure", "unasked", "edgeless", "no privacy", "limit", "chance"]

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
# What is no method has a colour for its role and a dash of its own.
DASHES: dict[Role, tuple[str, Any]] = {
    "control": (CONTROL.day, "--"),
    "structure": (STRUCTURE.day, ":"),
    "unasked": (STRUCTURE.day, (0, (5, 1, 1, 1, 1, 1))),
    "edgeless": (STRUCTURE.day, (0, (1, 3))),
    "no privacy": (NO_PRIVACY.day, "-."),
    "limit": (LIMIT.day, "-"),
    "chance": (INK.day, ":"),
}
WIDE = 2.2
# How strongly an interval is shaded.
BAND = 0.16
REFERENCES = ((INK.day, ":"), (FAINT.day, "-."), (CONTROL.day, (0, (1, 3))))


def line_style(role: Role, place: int = 0, *, flat: bool = False) -> dict[str, Any]:
    """How a line is drawn: ``place`` counts the methods of a figure, and a control has the open mark of its method.

    A ``flat`` line is the same everywhere, and has no marks.
    """
    mark = {} if flat else {"marker": MARKS[place % len(MARKS)], "markersize": 6}
    if role == "method":
        return {"color": LINES[place % len(LINES)].day, "linestyle": "-", "linewidth": WIDE, **mark}
    colour, dash = DASHES[role]
    style = {"color": colour, "linestyle": dash, "linewidth": WIDE}
    return style | mark | {"fillstyle": "none"} if role == "control" else style


def reference_style(place: int) -> dict[str, Any]:
    """How a line is drawn that is nobody's result, like a formula."""
    colour, dash = REFERENCES[place % len(REFERENCES)]
    return {"color": colour, "linestyle": dash, "linewidth": WIDE}
