"""How far the estimates of a personal mechanism lie from what they estimate, in half widths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel, Values
from graphveil.mechanisms.level_shares import checked_shares
from graphveil.mechanisms.ppm_decoding import Decoding

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EntryErrors:
    """Squares, variances and errors of an estimated entry, at some shares of the levels."""

    decoding: Decoding

    @cached_property
    def grid(self) -> Values:
        """All values that are an input of some channel; in between, mean squares are linear."""
        return np.unique(np.concatenate([way.channel.inputs for ways in self.decoding.ways for way in ways]))

    def mean_squares(self, shares: Any) -> Floats:
        """The mean square of an entry beside each τ' (row) at each value of the grid (column)."""
        squares = self.decoding.table(shares) ** 2
        entry_squares = np.zeros((len(squares), len(self.grid)))
        for place, weights in enumerate(self.decoding.levels.posterior(shares)):
            for level, weight in enumerate(weights):
                way = self.decoding.ways[level][place]
                codes = squares[place, way.first : way.first + way.channel.output_count]
                means = np.interp(self.grid, way.channel.inputs, _probabilities(way.channel) @ codes)
                entry_squares[place] += weight * way.count / self.decoding.size * means
        return entry_squares

    def variances(self, shares: Any) -> Floats:
        """The largest variance, over the values that an entry can have, given τ' clamped to 1..f.

        One that is never seen gets the variance at equal shares.
        """
        levels = self.decoding.levels
        prior = checked_shares(shares, levels.count)
        if not ((prior @ levels.transition) > 0).all():
            prior = np.full(len(prior), 1 / len(prior))
        squares, seen = self.mean_squares(prior), prior @ levels.transition
        variances = []
        for level in range(1, levels.count + 1):
            weight = np.where(levels.clamped == level, seen, 0.0)
            variances.append(largest_variance(self.grid, weight @ squares / weight.sum()))
        return np.array(variances)

    def by_level(self, shares: Any) -> Floats:
        """The mean square error of an entry for users of each level, all input symbols equally likely."""
        ways, size = self.decoding.ways, self.decoding.size
        decoded, transition = self.decoding.table(shares), self.decoding.levels.transition
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


def largest_variance(inputs: Values, squares: Floats) -> float:
    """The largest of (mean square at x) - x² where the mean square is given at some x, and linear in between."""
    slopes = np.diff(squares) / np.diff(inputs)
    at = np.clip(slopes / 2, inputs[:-1], inputs[1:])
    return float(np.max(squares[:-1] + slopes * (at - inputs[:-1]) - at**2))


def _probabilities(channel: FiniteChannel) -> Floats:
    rows = (channel.row(symbol) for symbol in range(channel.input_count))
    return np.array([[count / channel.total for count in row] for row in rows])
