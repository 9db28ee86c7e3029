"""What exact figures have in common: a channel's table as floats, and the largest value of a parabola on a piece."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.channels import Channel, FiniteChannel, ProductChannel

Floats = NDArray[np.float64]


def peaks(start: Floats, middle: Floats, stop: Floats) -> Floats:
    """The largest values of parabolas on pieces, from three of their points.

    >>> peaks(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([0.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    slope, bend = (stop - start) / 2, (start - 2 * middle + stop) / 2
    arched = (bend < 0) & (np.abs(slope) < -2 * bend)
    top = middle - np.where(arched, slope**2 / np.where(arched, 4 * bend, 1.0), 0.0)
    return np.where(arched, top, np.maximum(start, stop))


def probabilities(channel: FiniteChannel) -> Floats:
    """P[answer | symbol], symbols x answers."""
    if isinstance(channel, ProductChannel):
        # A row counts out of 2^620: the product of its bits' tables is the same, but for rounding.
        whole: Floats = np.ones((1, 1))
        for bit in channel.bits:
            whole = np.asarray(np.kron(whole, probabilities(bit)), dtype=np.float64)
        return whole
    if isinstance(channel, Channel):
        return np.asarray(channel.table / channel.total)
    rows = (channel.row(symbol) for symbol in range(channel.input_count))
    return np.array([[count / channel.total for count in row] for row in rows])
