"""The exact losses of a personal mechanism's whole reports, between users of two levels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Loss
from graphveil.mechanisms.ppm_ways import Way

# A level: how many of the level channel's draws give each τ', and how values are answered beside it.
Level = tuple[Sequence[int], Sequence[Way]]


def loss_between(one: Level, other: Level, equal_rows: bool) -> Loss:
    """The exact loss of whole reports: the largest over τ' of ln(P[τ' | one]/P[τ' | other]) plus m' times the largest loss of an answer.

    That loss is over all pairs of values or, with ``equal_rows``, over all values that both have in common.
    """
    found = []
    for often, way, rarely, against in zip(*one, *other, strict=True):
        if often == 0:
            continue
        if rarely == 0 or (way.count, way.first) != (against.count, against.first):
            return Loss(None)
        answer = Loss.of(largest_ratio(way.channel, against.channel, equal_rows))
        found.append(Loss.total([Loss.of(Fraction(often, rarely)), answer.times(way.count)]))
    return worst(found)


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
    return max(losses, key=lambda loss: loss.bounds()[1])
