"""Exact arithmetic on tables of counts: no float decides whether a claim holds.

A row of a table holds counts out of ``TOTAL`` = 2^62. A worst-case ratio is a fraction of two counts, and the privacy
loss of a whole mechanism is a sum of logarithms of such fractions. For a rational ε other than 0, e^ε is
transcendental (Lindemann), so a loss never equals a claim exactly: comparing with ever more digits always ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number
from graphveil.errors import InputError

TOTAL_BITS = 62
TOTAL = 1 << TOTAL_BITS
# A constructor aims this much (relatively) below its claim, so that rounding dust in a sum of claims is covered.
MARGIN = 2.0**-40
# Per value: below, 2^62 counts cannot hold the difference of two rows; above, the smaller of two rows.
MIN_EPSILON, MAX_EPSILON = 1e-8, 20.0

# From e^ε = 2^62 on, only cells that are empty under the other input add to δ.
ALL_BUT_EMPTY = 64.0
# Pairs of rows that agree to 15 digits are told apart exactly up to this many.
MAX_TIED = 256

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Claim:
    """The (ε, δ) that a channel or a mechanism promises for the value that it randomizes.

    >>> Claim(1.0)
    Claim(epsilon=1.0, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, (int, float)) and math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise InputError(f"epsilon must be a finite number of at least 0, got {self.epsilon!r}")
        if not (isinstance(self.delta, (int, float)) and 0 <= self.delta < 1):
            raise InputError(f"delta must be a number in [0, 1), got {self.delta!r}")


def check_epsilon(epsilon: float) -> float:
    """Return a per-value ε as a float, or say why it cannot be used."""
    value = check_number(epsilon, "epsilon", above=0)
    if not MIN_EPSILON <= value <= MAX_EPSILON:
        raise InputError(
            f"epsilon for one value must be between {MIN_EPSILON:g} and {MAX_EPSILON:g}, got {value:g}: "
            + (
                "spend it on fewer values"
                if value < MIN_EPSILON
                else "spread it over more values or ask for less"
            )
        )
    return value


def check_delta(delta: float) -> float:
    """Return a δ strictly between 0 and 1, or say why it cannot be used."""
    return check_number(delta, "delta", above=0, below=1)


def target(epsilon: float) -> Fraction:
    """Return ε(1 - 2^-40) exactly, which constructors aim at."""
    return Fraction(epsilon) * (1 - Fraction(MARGIN))


def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999)


def exp_below(exponent: Fraction, digits: int = 60) -> Fraction:
    """A fraction just below e^exponent (relative gap at most 2·10^(3-digits), for exponents below 1000)."""
    context = _context(digits)
    # The quotient is off by half a unit in the last place, which moves e^exponent by exponent units: covered by 10^3.
    power = context.exp(context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    return Fraction(power) * (1 - Fraction(1, 10 ** (digits - 3)))


# Deciding a claim asks for the same few logarithms again and again.
@lru_cache(maxsize=4096)
def _log_bounds(ratio: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    context = _context(digits)
    top, bottom = context.ln(Decimal(ratio.numerator)), context.ln(Decimal(ratio.denominator))
    difference = Fraction(top) - Fraction(bottom)
    # Each logarithm is rounded to `digits` digits; they have at most 10^6 before the point.
    slack = Fraction(1, 10 ** (digits - 7))
    return difference - slack, difference + slack


@dataclass(frozen=True)
class Loss:
    """A privacy loss: the sum of count·ln(ratio) over its terms. An empty sum is 0, None means infinite.

    >>> Loss.of(Fraction(3, 1)).epsilon
    1.0986122886681098
    """

    terms: tuple[tuple[Fraction, int], ...] | None

    @classmethod
    def of(cls, ratio: Fraction | None, count: int = 1) -> Loss:
        """The loss of one ratio, ``count`` times; ratio None is infinite."""
        if ratio is None:
            return cls(None)
        return cls(()) if ratio == 1 or count == 0 else cls(((ratio, count),))

    @classmethod
    def total(cls, losses: Iterable[Loss]) -> Loss:
        """Losses of independent answers add up."""
        counts: dict[Fraction, int] = {}
        for loss in losses:
            if loss.terms is None:
                return cls(None)
            for ratio, count in loss.terms:
                counts[ratio] = counts.get(ratio, 0) + count
        return cls(tuple(counts.items()))

    def times(self, count: int) -> Loss:
        """The loss of ``count`` independent answers."""
        if count == 0:
            return Loss(())
        return Loss(
            None if self.terms is None else tuple((ratio, count * times) for ratio, times in self.terms)
        )

    def bounds(self, digits: int = 50) -> tuple[Fraction, Fraction]:
        """Two fractions with the loss strictly between them (both 0 if it is 0)."""
        if self.terms is None:
            raise InputError("an infinite loss has no bounds: test `loss.terms is None` first")
        low = high = Fraction(0)
        for ratio, count in self.terms:
            below, above = _log_bounds(ratio, digits)
            low, high = low + count * below, high + count * above
        return low, high

    def exceeds(self, epsilon: float | Fraction) -> bool:
        """Whether the loss is more than ε; exact."""
        if self.terms is None:
            return True
        if not self.terms:
            return False
        claimed = Fraction(epsilon)
        for digits in (50, 100, 200, 400, 800):
            low, high = self.bounds(digits)
            if low > claimed:
                return True
            if high < claimed:
                return False
        raise AssertionError("a sum of logarithms of fractions equals a fraction only if both are 0")

    @cached_property
    def epsilon(self) -> float:
        """The loss as a float, rounded up."""
        if self.terms is None:
            return math.inf
        if not self.terms:
            return 0.0
        value = float(self.bounds()[1])
        while self.exceeds(value):
            value = math.nextafter(value, math.inf)
        while value > 0 and not self.exceeds(math.nextafter(value, 0.0)):
            value = math.nextafter(value, 0.0)
        return value


@dataclass(frozen=True)
class Worst:
    """The most revealing place of a table: an output, two inputs, and their ratio (None: infinite)."""

    output: int
    likelier: int
    rarer: int
    ratio: Fraction | None

    @property
    def loss(self) -> Loss:
        """The loss of that output."""
        return Loss.of(self.ratio)


def worst_ratio(table: Counts) -> Worst:
    """The largest ratio of two entries of a column, over all columns; exact."""
    high, low = table.max(axis=0), table.min(axis=0)
    certain = np.flatnonzero((low == 0) & (high > 0))
    if certain.size:
        column = int(certain[np.argmax(high[certain])])
        return Worst(column, int(table[:, column].argmax()), int(table[:, column].argmin()), None)
    used = np.flatnonzero(high > 0)
    approximate = high[used] / low[used]
    # The quotient of two rounded integers is off by less than 2^-50 of itself.
    near = used[approximate >= approximate.max() * (1 - 2.0**-49)]
    pairs = {(int(high[column]), int(low[column])): int(column) for column in reversed(near)}
    (top, bottom), column = max(pairs.items(), key=lambda item: Fraction(item[0][0], item[0][1]))
    return Worst(
        column,
        int(table[:, column].argmax()),
        int(table[:, column].argmin()),
        Fraction(int(top), int(bottom)),
    )


def _candidate_pairs(table: Counts, power: float) -> tuple[list[tuple[int, int]], float]:
    """The pairs of rows that may have the largest hockey-stick divergence, and an upper bound of it.

    Found in floats with a safe slack: each term is off by at most 2^-50 of the mass that enters it, and a sum over
    l terms adds its own rounding. A term within that of 0 may count as well.
    """
    shares = table / float(TOTAL)
    divergence = np.zeros((len(shares), len(shares)))
    mass = np.zeros_like(divergence)
    for row in range(len(shares)):
        gaps = shares[row] - power * shares
        divergence[row] = np.where(gaps > 0, gaps, 0.0).sum(axis=1)
        mass[row] = ((gaps >= -(2.0**-50) * shares[row]) * shares[row]).sum(axis=1)
    slack = mass * 2.0**-50 * (8 + shares.shape[1] / 64)
    floor = float((divergence - slack).max())
    rows, others = np.nonzero(divergence + slack >= floor)
    return list(zip(rows.tolist(), others.tolist(), strict=True)), float((divergence + slack).max())


def _divergence(likelier: list[int], rarer: list[int], power: Fraction) -> Fraction:
    top, bottom = power.numerator, power.denominator
    gained = sum(max(0, one * bottom - other * top) for one, other in zip(likelier, rarer, strict=True))
    return Fraction(gained, bottom * TOTAL)


def hockey_stick(table: Counts, epsilon: float) -> tuple[Fraction, tuple[int, int]]:
    """δ(ε) = max over two rows of Σ max(0, P - e^ε P'), and the two rows.

    Exact but for e^ε, which is rounded down in the 57th digit. Where more than ``MAX_TIED`` pairs of rows agree to
    15 digits (as they do in symmetric tables), the 15th digit is rounded up instead of telling them apart.
    """
    power = exp_below(Fraction(min(epsilon, ALL_BUT_EMPTY))) if epsilon > 0 else Fraction(1)
    pairs, bound = _candidate_pairs(table, float(power))
    if len(pairs) > MAX_TIED:
        return Fraction(bound), pairs[0]
    values = [_divergence(table[row].tolist(), table[other].tolist(), power) for row, other in pairs]
    best = max(range(len(pairs)), key=values.__getitem__)
    return values[best], pairs[best]


def ratio_at_delta(likelier: list[int], rarer: list[int], delta: Fraction) -> Fraction | None:
    """Return the smallest e^ε at which two rows are (ε, δ)-close, as an exact fraction.

    None if there is none.

    Parameters
    ----------
    likelier, rarer
        The counts of the two rows.
    delta
        δ, exactly.
    """
    both = [(one, other) for one, other in zip(likelier, rarer, strict=True) if one > 0]
    both.sort(key=lambda pair: Fraction(pair[0], pair[1]) if pair[1] else math.inf, reverse=True)
    allowed = delta * TOTAL
    gained, lost = 0, 0
    answer: Fraction | None = None
    # δ falls linearly in e^ε between two neighbouring ratios: walk down until it would pass the allowed δ.
    for index, (one, other) in enumerate(both):
        gained, lost = gained + one, lost + other
        following = both[index + 1] if index + 1 < len(both) else None
        if lost == 0:
            if gained > allowed:
                return None
            continue
        crossing = (gained - allowed) / lost
        if following is None or following[1] and crossing >= Fraction(following[0], following[1]):
            answer = crossing
            break
    return max(answer if answer is not None else Fraction(1), Fraction(1))


def loss_at_delta(table: Counts, delta: float, guess: float) -> Loss:
    """Return the smallest loss at which the table is (ε, δ)-private; exact.

    The worst rows at any ε give a lower bound of the answer, the worst rows there the next one, until they ask for no
    more. Where more than ``MAX_TIED`` pairs of rows agree to 15 digits, the answer is rounded up instead.

    Parameters
    ----------
    table
        (inputs, outputs) counts.
    delta
        δ.
    guess
        An ε near the answer, to start from.
    """
    asked, power = Fraction(1), math.exp(min(guess, ALL_BUT_EMPTY))
    while True:
        pairs, _ = _candidate_pairs(table, power)
        ratios = [
            ratio_at_delta(table[row].tolist(), table[other].tolist(), Fraction(delta))
            for row, other in pairs[:MAX_TIED]
        ]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            return Loss(None)
        if power == float(asked) and max(known) <= asked:
            return Loss.of(asked if len(pairs) <= MAX_TIED else _rounded_up(table, asked, delta))
        asked = max(asked, *known)
        power = float(asked)


def _rounded_up(table: Counts, ratio: Fraction, delta: float) -> Fraction | None:
    """A ratio from this one on at which δ surely holds, for all pairs of rows; None: there is none."""
    step, power = 2.0**-45, float(ratio)
    while _candidate_pairs(table, power)[1] > delta:
        if power > math.exp(ALL_BUT_EMPTY):
            return None
        power = float(ratio) * (1 + step)
        step *= 2
    return max(ratio, Fraction(power))
