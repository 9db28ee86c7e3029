"""What one answer of a mechanism can be: rows of its channel's table, as the shares of answers at each value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.errors import InputError
from graphveil.experiments.figure import HEIGHT, WIDTH, Drawing, line_style
from graphveil.mechanisms.registry import load_entry
from graphveil.number_format import budget

# What is drawn where nobody says otherwise: one value of a row, one of so many classes, levels or users.
EPSILON, CLASSES, LEVELS, USERS = 1.0, 4, 4, 2
SETTINGS: dict[str, dict[str, Any]] = {
    "features": {"dims": 1, "range": (0.0, 1.0)},
    "label": {"classes": CLASSES},
    "level": {"levels": LEVELS},
    "links": {"dims": USERS},
}
# So many outputs get a bar each; more are counted in as many intervals of equal length.
MOST_BARS, INTERVALS = 12, 40
# Of answers without an end, so many in both tails together are counted in the last intervals.
TAILS = 0.005
INPUTS = 3


def mechanism_drawing(name: str, epsilon: float = EPSILON) -> Drawing:
    """Draw what a mechanism by name answers at a budget, for the smallest, the middle and the largest input."""
    entry = load_entry(name)
    built = entry.build(epsilon=epsilon, **SETTINGS[entry.subject])
    if not built.finite or not built.answers:
        raise InputError(
            f"{name} has no finite table to draw: take one of which `graphveil audit` says an exact ε"
        )
    channel = built.answers[0].channel
    drawing = Drawing((WIDTH, HEIGHT))
    axes = drawing.axes[0]
    symbols = sorted({0, (channel.input_count - 1) // 2, channel.input_count - 1})[:INPUTS]
    shares = {
        symbol: np.array([count / channel.total for count in channel.row(symbol)]) for symbol in symbols
    }
    few = channel.output_count <= MOST_BARS
    (_bars if few else _intervals)(axes, channel, shares)
    axes.set_ylim(bottom=0)
    title = f"{entry.name} at {budget(epsilon)}: what one answer can be"
    drawing.label(
        title, "answer, decoded", "percent of answers" + ("" if few else f", in {INTERVALS} intervals")
    )
    drawing.legend(columns=INPUTS)
    return drawing


def _bars(axes: Any, channel: FiniteChannel, shares: dict[int, NDArray[np.float64]]) -> None:
    wide = 0.8 / len(shares)
    places = np.arange(channel.output_count)
    for place, (symbol, row) in enumerate(shares.items()):
        axes.bar(
            places + (place - (len(shares) - 1) / 2) * wide,
            100 * row,
            wide,
            color=line_style("method", place)["color"],
            label=_held(channel, symbol),
        )
    axes.set_xticks(places, [f"{value:.3g}" for value in channel.outputs])
    axes.grid(visible=False, axis="x")


def _intervals(axes: Any, channel: FiniteChannel, shares: dict[int, NDArray[np.float64]]) -> None:
    order = np.argsort(channel.outputs, kind="stable")
    outputs = channel.outputs[order]
    ends = [_middle(outputs, row[order]) for row in shares.values()]
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), INTERVALS + 1)
    # An output stands for what is nearer to it than to its neighbours, and its answers are spread over that.
    between = (outputs[1:] + outputs[:-1]) / 2
    cells = np.concatenate([[2 * outputs[0] - between[0]], between, [2 * outputs[-1] - between[-1]]])
    for place, (symbol, row) in enumerate(shares.items()):
        counted = spread(row[order], cells, edges)
        colour = line_style("method", place)["color"]
        axes.stairs(100 * counted, edges, color=colour, linewidth=2, label=_held(channel, symbol))


def spread(
    row: NDArray[np.float64], cells: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The share of a row in each interval between ``edges``; what lies outside is counted in the first and the last.

    >>> spread(np.array([0.5, 0.5]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.5])).tolist()
    [0.25, 0.75]
    """
    below = np.interp(edges, cells, np.concatenate([[0.0], np.cumsum(row)]))
    below[0], below[-1] = 0.0, row.sum()
    return np.diff(below)


def _held(channel: FiniteChannel, symbol: int) -> str:
    """An input by its value; what is 0 but for rounding is 0."""
    return f"held: {round(float(channel.inputs[symbol]), 9) + 0.0:.3g}"


def _middle(outputs: NDArray[np.float64], row: NDArray[np.float64]) -> tuple[float, float]:
    """Where all but the tails of a row lie."""
    below = np.cumsum(row)
    first = int(np.searchsorted(below, TAILS / 2))
    last = int(np.searchsorted(below, 1 - TAILS / 2))
    low, high = float(outputs[first]), float(outputs[min(last, len(outputs) - 1)])
    return (low, high) if high > low else (low - 0.5, math.nextafter(low + 0.5, math.inf))
