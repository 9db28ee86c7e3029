"""Ways of answering by level, the exact losses of whole reports, and lists of all such reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import SizedCache
from graphveil.channels.channel import FiniteChannel, Values
from graphveil.channels.exact import Loss
from graphveil.errors import InputError
from graphveil.mechanisms.limits import MAX_ENTRIES

# One dimension's outputs of two channels decode to the same signs if they agree to this, scaled to their largest.
SAME_SIGNS = 1e-9
# A logarithm of a quotient of counts, computed in floats, is off by less than this.
ROUGHLY = 2.0**-45
# Stands for a count of 0 in floats, so that nothing is divided by 0.
NEXT_TO_NOTHING = 1e-200
# Tables in floats, of the mechanism that was verified last and perhaps of others.
_as_floats = SizedCache(MAX_ENTRIES)


@dataclass(frozen=True)
class Way:
    """The answers of a level beside a randomized level: ``count`` values through a channel.

    The codes of the answers are counted from ``first``.
    """

    count: int
    channel: FiniteChannel
    first: int = 0


def groups(ways: tuple[Way, ...]) -> dict[tuple[int, int], list[int]]:
    """Group levels whose answers have the same number and the same codes beside one τ'."""
    levels_of: dict[tuple[int, int], list[int]] = {}
    for level, way in enumerate(ways):
        levels_of.setdefault((way.count, way.first), []).append(level)
    return levels_of


def check_alike(one: FiniteChannel, other: FiniteChannel) -> None:
    """Refuse channels whose codes do not stand for the same signs: a code would tell the levels apart."""
    alike = (
        one.output_count == other.output_count
        and np.array_equal(one.inputs, other.inputs)
        and np.abs(one.outputs / top(one) - other.outputs / top(other)).max() < SAME_SIGNS
    )
    if not alike:
        raise InputError(
            f"{one.name} answers with other codes at epsilon {one.claim.epsilon:g} than at {other.claim.epsilon:g}, which "
            "would betray the level: take onebit inside, or ppm-printed where levels need no protection"
        )


def top(channel: FiniteChannel) -> float:
    """Return the largest magnitude that an answer decodes to."""
    return float(np.abs(channel.outputs).max())


# A level: how many of the level channel's draws give each τ', and how values are answered beside it.
Level = tuple[Sequence[int], Sequence[Way]]
# Two ways of answering, and how much likelier the τ' beside them is under the first level than under the second.
Case = tuple[Way, Way, Fraction]


def loss_between(one: Level, other: Level, equal_rows: bool) -> Loss:
    """Return the exact loss of whole reports between two levels.

    The largest over τ' of ln(P[τ' | one]/P[τ' | other]) plus m' times the largest loss of an answer.

    Parameters
    ----------
    one, other
        The levels: how many of the level channel's draws give each τ', and the way of answering beside it.
    equal_rows
        Whether the loss of an answer is over values that both have in common, instead of all pairs of values.
    """
    if equal_rows and one is other:
        return Loss(())
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
    """Return those of some cases of which one has the largest loss, found in floats with a safe slack."""
    rough = [
        math.log(ratio) + way.count * math.log(_rough_ratio(way.channel, against.channel, equal_rows))
        for way, against, ratio in cases
    ]
    slack = 2 * ROUGHLY * (1 + max(way.count for way, _, _ in cases))
    return [case for case, value in zip(cases, rough, strict=True) if value >= max(rough) - slack]


def _rough_ratio(one: FiniteChannel, other: FiniteChannel, equal: bool) -> float:
    """Return `largest_ratio` in floats; where it is infinite, a number larger than any other can be."""
    table, against = _floats(one), _floats(other)
    often, rarely = (table[0], against[0]) if equal else (table[1], against[2])
    return max(1.0, float((often / rarely).max()))


def _floats(channel: FiniteChannel) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a channel's counts, and the largest and the smallest of each column.

    A 0 is replaced by far less than 1.
    """
    return _as_floats.get(channel, lambda: _made_floats(channel), lambda made: made[0].size)


def _made_floats(
    channel: FiniteChannel,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    table = np.maximum(channel.probabilities, NEXT_TO_NOTHING)
    return table, table.max(axis=0), table.min(axis=0)


def largest_ratio(one: FiniteChannel, other: FiniteChannel, equal: bool) -> Fraction | None:
    """Return the largest ratio of an output's probabilities under two channels.

    Parameters
    ----------
    one, other
        The channels in the numerator and in the denominator.
    equal
        Whether both have the same input; otherwise the ratio is over all pairs of inputs.
    """
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
    """Return the largest of some losses."""
    if any(loss.terms is None for loss in losses):
        return Loss(None)
    return losses[0] if len(losses) == 1 else max(losses, key=lambda loss: loss.bounds()[1])


def largest_variance(inputs: Values, squares: Values) -> float:
    """Return the largest of (mean square at x) - x², given mean squares at some x, linear in between."""
    slopes = np.diff(squares) / np.diff(inputs)
    at = np.clip(slopes / 2, inputs[:-1], inputs[1:])
    return float(np.max(squares[:-1] + slopes * (at - inputs[:-1]) - at**2))
