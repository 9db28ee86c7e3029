"""How far the estimates of a personal mechanism lie from what they estimate, in half widths.

``ways`` is how each level answers beside each τ', ``size`` is d, and ``decoded`` what each code (column) beside each τ' (row)
adds to an estimate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel, Values
from graphveil.mechanisms.ppm_ways import Way

Floats = NDArray[np.float64]


def mean_squares(
    ways: tuple[tuple[Way, ...], ...], size: int, decoded: Floats, posterior: Floats, grid: Values
) -> Floats:
    """The mean square of an estimated entry beside each τ' (row) at each value of the grid (column).

    ``posterior`` is P[τ | τ'], a row a τ'.
    """
    squares = decoded**2
    entry_squares = np.zeros((len(squares), len(grid)))
    for place, weights in enumerate(posterior):
        for level, weight in enumerate(weights):
            way = ways[level][place]
            codes = squares[place, way.first : way.first + way.channel.output_count]
            means = np.interp(grid, way.channel.inputs, _probabilities(way.channel) @ codes)
            entry_squares[place] += weight * way.count / size * means
    return entry_squares


def largest_variance(inputs: Values, squares: Floats) -> float:
    """The largest of (mean square at x) - x² where the mean square is given at some x, and linear in between."""
    slopes = np.diff(squares) / np.diff(inputs)
    at = np.clip(slopes / 2, inputs[:-1], inputs[1:])
    return float(np.max(squares[:-1] + slopes * (at - inputs[:-1]) - at**2))


def mean_errors(ways: tuple[tuple[Way, ...], ...], size: int, decoded: Floats, transition: Floats) -> Floats:
    """The mean square error of an estimated entry for users of each level, all input symbols equally likely.

    ``transition`` is P[τ' | τ], a row a level.
    """
    inputs = ways[0][0].channel.inputs
    errors = np.zeros(len(ways))
    for level, own in enumerate(ways):
        for place, way in enumerate(own):
            codes = decoded[place, way.first : way.first + way.channel.output_count]
            squares = (codes[None, :] - inputs[:, None]) ** 2
            asked = way.count / size
            error = asked * (_probabilities(way.channel) * squares).sum(axis=1) + (1 - asked) * inputs**2
            errors[level] += transition[level, place] * error.mean()
    return errors


def _probabilities(channel: FiniteChannel) -> Floats:
    rows = (channel.row(symbol) for symbol in range(channel.input_count))
    return np.array([[count / channel.total for count in row] for row in rows])
