"""The exact losses of a personal mechanism's whole reports, between users of two levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphveil.cache import SizedCache
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Loss
from graphveil.mechanisms.limits import MAX_ENTRIES
from graphveil.mechanisms.ppm_ways import Way

# A level: how many of the level channel's draws give each τ', and how values are answered beside it.
Level = tuple[Sequence[int], Sequence[Way]]
# Two ways of answering, and how much likelier the τ' beside them is under the first level than under the second.
Case = tuple[Way, Way, Fraction]
# A logarithm of a quotient of counts, computed in floats, is off by less than this.
ROUGHLY = 2.0**-45
# Stands for a count of 0 in floats, so that nothing is divided by 0.
NEXT_TO_NOTHING = 1e-200
# Tables in floats, of the mechanism that was verified last and perhaps of others.
_as_floats = SizedCache(MAX_ENTRIES)


@dataclass(frozen=True, eq=False)
class PairLosses:
    """The losses between any two levels, counted from 0, each computed once.

    ``rows`` is how many of the level channel's draws give each τ', ``ways`` how values are answered beside it, by level.
    """

    rows: Sequence[Sequence[int]]
    ways: Sequence[Sequence[Way]]

    def between(self, one: int, other: int, equal_rows: bool) -> Loss:
        """The exact loss of whole reports between two levels: `loss_between`."""
        return self._losses[one, other, equal_rows]

    @cached_property
    def _losses(self) -> dict[tuple[int, int, bool], Loss]:
        levels = range(len(self.rows))
        return {
            (one, other, equal): self._computed(one, other, equal)
            for one in levels
            for other in levels
            for equal in (False, True)
        }

    def _computed(self, one: int, other: int, equal_rows: bool) -> Loss:
        if one == other and equal_rows:
            return Loss(())
        return loss_between(
            (self.rows[one], self.ways[one]), (self.rows[other], self.ways[other]), equal_rows
        )


def loss_between(one: Level, other: Level, equal_rows: bool) -> Loss:
    """The exact loss of whole reports: the largest over τ' of ln(P[τ' | one]/P[τ' | other]) plus m' times the largest loss of an answer.

    That loss is over all pairs of values or, with ``equal_rows``, over all values that both have in common.
    """
    # Most τ' are alike. Beside the same two ways of answering, only the one that tells the levels apart best counts.
    alike = {
        (often, rarely, id(way), id(against)): (often, rarely, way, against)
        for often, way, rarely, against in zip(*one, *other, strict=True)
    }
    likeliest: dict[tuple[Way, Way], Fraction] = {}
    for often, rarely, way, against in alike.values():
        if often == 0:
            continue
        if rarely == 0 or (way.count, way.first) != (against.count, against.first):
            return Loss(None)
        ratio = Fraction(often, rarely)
        likeliest[way, against] = max(likeliest.get((way, against), ratio), ratio)
    cases = [(way, against, ratio) for (way, against), ratio in likeliest.items()]
    losses = []
    for way, against, ratio in cases if len(cases) == 1 else _nearly_worst(cases, equal_rows):
        answer = Loss.of(largest_ratio(way.channel, against.channel, equal_rows))
        losses.append(Loss.total([Loss.of(ratio), answer.times(way.count)]))
    return worst(losses)


def _nearly_worst(cases: list[Case], equal_rows: bool) -> list[Case]:
    """Those of some cases, found in floats with a safe slack, of which one has the largest loss."""
    rough = [
        math.log(ratio) + way.count * math.log(_rough_ratio(way.channel, against.channel, equal_rows))
        for way, against, ratio in cases
    ]
    slack = 2 * ROUGHLY * (1 + max(way.count for way, _, _ in cases))
    return [case for case, value in zip(cases, rough, strict=True) if value >= max(rough) - slack]


def _rough_ratio(one: FiniteChannel, other: FiniteChannel, equal: bool) -> float:
    """`largest_ratio` in floats; where it is infinite, a number that is larger than any other can be."""
    table, against = _floats(one), _floats(other)
    often, rarely = (table[0], against[0]) if equal else (table[1], against[2])
    return max(1.0, float((often / rarely).max()))


def _floats(channel: FiniteChannel) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A channel's counts, the largest and the smallest of each column; a 0 is replaced by far less than 1."""
    return _as_floats.get(channel, lambda: _made_floats(channel), lambda made: made[0].size)


def _made_floats(
    channel: FiniteChannel,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    rows = [channel.row(symbol) for symbol in range(channel.input_count)]
    table = np.maximum(np.array(rows, dtype=np.float64), NEXT_TO_NOTHING)
    return table, table.max(axis=0), table.min(axis=0)


def largest_ratio(one: FiniteChannel, other: FiniteChannel, equal: bool) -> Fraction | None:
    """The largest ratio of an output's probabilities under two channels, over all inputs or over equal ones."""
    best = Fraction(1)
    first, second = (
        [channel.row(symbol) for symbol in range(channel.input_count)] for channel in (one, other)
    )
    for output in range(one.output_count):
        if equal:
            pairs = [(row[output], against[output]) for row, against in zip(first, second, strict=True)]
        else:
            pairs = [(max(row[output] for row in first), min(row[output] for row in second))]
        for often, rarely in pairs:
            if often and not rarely:
                return None
            if often:
                best = max(best, Fraction(often, rarely))
    return best


def worst(losses: list[Loss]) -> Loss:
    """The largest of some losses."""
    if any(loss.terms is None for loss in losses):
        return Loss(None)
    return losses[0] if len(losses) == 1 else max(losses, key=lambda loss: loss.bounds()[1])
