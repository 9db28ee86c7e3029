"""How far a decoded answer is from the true value, exactly: of any channel, from its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.channels import FiniteChannel
from reproduce.figures.exact import Floats, peaks, probabilities


@dataclass(frozen=True)
class AbsoluteError:
    """E|answer - value| of one value of [0, 1], and |E answer - value|.

    ``uniform`` is the error where all values are equally likely, ``worst`` that of the value with the largest, and ``bias`` the
    largest bias of any value.
    """

    uniform: float
    worst: float
    bias: float


def absolute_error(channel: FiniteChannel, *, binned: bool = False, clipped: bool = False) -> AbsoluteError:
    """The error of a channel on [-1, 1], in parts of that range.

    A value is encoded as mechanisms encode it: at random as one of the two input symbols around it, or, ``binned``, as the bin of
    equal width that it lies in. ``clipped`` answers beyond the range count as its ends. Between two symbols, and between two
    decoded answers, the error is a polynomial of degree 2 in the value. So three points give all of it: its integral (Simpson's
    rule is exact) and its maximum.
    """
    pieces = _Pieces.of(channel, binned, clipped)
    start, middle, stop = (pieces.errors(at) for at in (pieces.start, pieces.middle, pieces.stop))
    integral = float(((pieces.stop - pieces.start) * (start + 4 * middle + stop)).sum()) / 6
    bias = max(float(np.abs(pieces.biases(at)).max()) for at in (pieces.start, pieces.stop))
    # On [-1, 1] the density is a half, and so is an error's part of the range.
    return AbsoluteError(integral / 4, float(peaks(start, middle, stop).max()) / 2, bias / 2)


@dataclass(frozen=True)
class _Pieces:
    """[-1, 1] cut at all input symbols and at all decoded answers.

    In each piece ``row`` and ``next_row`` are the two symbols that a value is encoded as, the second with the probability
    ``share`` at the piece's start plus ``slope`` times the way from there; ``below`` answers decode to less than the piece.
    """

    start: Floats
    stop: Floats
    row: NDArray[np.intp]
    next_row: NDArray[np.intp]
    share: Floats
    slope: Floats
    below: NDArray[np.intp]
    # For each symbol: how likely the answers below the j-th are together, and Σ P·answer over them.
    mass: Floats
    moment: Floats

    @classmethod
    def of(cls, channel: FiniteChannel, binned: bool, clipped: bool) -> _Pieces:
        answers = np.clip(channel.outputs, -1.0, 1.0) if clipped else channel.outputs
        order = np.argsort(answers, kind="stable")
        answers, shares = answers[order], probabilities(channel)[:, order]
        symbols = np.linspace(-1.0, 1.0, channel.input_count + 1) if binned else channel.inputs
        inside = answers[(answers > -1) & (answers < 1)]
        edges = np.unique(np.concatenate([symbols, inside]))
        start, stop = edges[:-1], edges[1:]
        middle = (start + stop) / 2
        row = np.searchsorted(symbols, middle) - 1
        gap = symbols[row + 1] - symbols[row]
        none = np.zeros(len(start))
        return cls(
            start,
            stop,
            row,
            row if binned else row + 1,
            none if binned else (start - symbols[row]) / gap,
            none if binned else 1 / gap,
            np.searchsorted(answers, middle),
            _running(shares),
            _running(shares * answers),
        )

    @property
    def middle(self) -> Floats:
        """The middle of each piece."""
        return (self.start + self.stop) / 2

    def errors(self, values: Floats) -> Floats:
        """E|answer - value| for a value of each piece."""
        return self._mixed(values, self._error_of)

    def biases(self, values: Floats) -> Floats:
        """E answer - value for a value of each piece."""
        return self._mixed(values, lambda row, values: self.moment[row, -1] - values)

    def _mixed(self, values: Floats, of_row: Callable[[NDArray[np.intp], Floats], Floats]) -> Floats:
        share = self.share + self.slope * (values - self.start)
        return (1 - share) * of_row(self.row, values) + share * of_row(self.next_row, values)

    def _error_of(self, row: NDArray[np.intp], values: Floats) -> Floats:
        """Σ P·(value - answer) over the answers below, and Σ P·(answer - value) over the others."""
        low = values * self.mass[row, self.below] - self.moment[row, self.below]
        high = self.moment[row, -1] - self.moment[row, self.below]
        return np.asarray(low + high - values * (self.mass[row, -1] - self.mass[row, self.below]))


def _running(numbers: Floats) -> Floats:
    """Sums of the first 0, 1, 2, … numbers of each row."""
    return np.concatenate([np.zeros((len(numbers), 1)), np.cumsum(numbers, axis=1)], axis=1)
