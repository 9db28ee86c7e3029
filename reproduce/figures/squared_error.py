"""Variance and bias of one value's decoded answer, exactly: of any channel, from its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphveil.channels import FiniteChannel
from reproduce.figures.exact import Floats, peaks, probabilities


@dataclass(frozen=True)
class SquaredError:
    """The largest Var[answer], |E answer - value| and E(answer - value)² of any value of [-1, 1], each at its own worst value."""

    variance: float
    bias: float
    whole: float


def squared_error(channel: FiniteChannel) -> SquaredError:
    """The errors of a channel on [-1, 1], whose values are encoded at random as one of the two input symbols around them.

    Between two symbols the first two moments of the answer are linear in the value, so that all three are parabolas at most there: three
    points give their largest values.
    """
    shares, symbols = probabilities(channel), channel.inputs
    means, squares = shares @ channel.outputs, shares @ channel.outputs**2

    def largest(of: Callable[[Floats, Floats, Floats], Floats]) -> float:
        start, middle, stop = (
            of(_at(symbols, place), _at(means, place), _at(squares, place)) for place in (0.0, 0.5, 1.0)
        )
        return float(peaks(start, middle, stop).max())

    return SquaredError(
        largest(lambda values, mean, square: square - mean**2),
        float(np.abs(means - symbols).max()),
        largest(lambda values, mean, square: square - 2 * values * mean + values**2),
    )


def _at(numbers: Floats, place: float) -> Floats:
    """What lies between neighbours: at 0 the first of each two, at 1 the second."""
    return (1 - place) * numbers[:-1] + place * numbers[1:]
