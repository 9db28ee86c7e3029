"""The standard normal distribution: its tail in exact arithmetic, and draws from it and from its two sides of a threshold.

Only numpy and the standard library are used, and every draw takes the same number of words whatever comes out.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import WordArray, Words

Floats = NDArray[np.float64]

# Thresholds beyond have a tail below 10^-57.
MAX_THRESHOLD = 16.0
# Digits of a tail probability that are right, whatever the threshold.
DIGITS = 60

_inverse = np.frompyfunc(NormalDist().inv_cdf, 1, 1)


@lru_cache(maxsize=128)
def tail_bounds(threshold: float) -> tuple[Fraction, Fraction]:
    """Two fractions with P[N(0, 1) ≥ g] strictly between them, less than 10^-50 of it apart; 0 ≤ g ≤ 16.

    1/2 - φ(g)·Σ g^{2k+1}/(1·3·5···(2k+1)) (Abramowitz and Stegun, 26.2.11), in decimals. Every operation is rounded
    correctly, all terms are positive, and there are fewer than 10^3 of them: φ times the sum is off by less than
    10^6 units of its last digit, and it has enough digits for what the subtraction cancels.

    >>> float(tail_bounds(1.0)[1])
    0.15865525393145705
    """
    # The tail is above e^{-g²/2}/(4+4g²) > 10^-(2+g²/4): that many digits cancel at most, and 6 are slack.
    places = DIGITS + 8 + math.ceil(threshold**2 / 4)
    context = Context(prec=places, Emin=-999999, Emax=999999)
    point = Decimal(threshold)
    square = context.multiply(point, point)
    term, total, odd = point, point, 1
    # What is left out is at most a geometric series of ratio 1/2.
    while odd < 2 * threshold**2 or term > total.scaleb(-places, context):
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    power = context.exp(context.divide(square, Decimal(-2)))
    root = context.sqrt(context.multiply(Decimal(2), _pi(context)))
    inside = Fraction(context.divide(context.multiply(total, power), root))
    slack = Fraction(1, 10 ** (places - 6))
    return Fraction(1, 2) - inside - slack, Fraction(1, 2) - inside + slack


def _pi(context: Context) -> Decimal:
    """π to the digits of the context: 16 arctan(1/5) - 4 arctan(1/239) (Machin 1706), in integers with 10 spare digits."""
    unit = 10 ** (context.prec + 10)

    def arctan_of_one_over(number: int) -> int:
        power, total, odd, sign = unit // number, 0, 1, 1
        while power:
            total += sign * (power // odd)
            power //= number * number
            odd, sign = odd + 2, -sign
        return total

    whole = 16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239)
    return context.divide(Decimal(whole), Decimal(unit))


def density(threshold: float) -> float:
    """φ(g) = e^{-g²/2}/√(2π)."""
    return math.exp(-(threshold**2) / 2) / math.sqrt(2 * math.pi)


def tail(threshold: float) -> float:
    """P[N(0, 1) ≥ g] as a float."""
    return math.erfc(threshold / math.sqrt(2)) / 2


def draw_normals(count: int, words: Words) -> Floats:
    """Independent standard normals by Box and Muller (1958), one 64-bit word each (one more for an odd count).

    √(-2 ln U)·(cos 2πT, sin 2πT) with U in (0, 1] and T in [0, 1) of 53 bits: no draw is beyond 8.58.
    """
    half = (count + 1) // 2
    radius = np.sqrt(-2 * np.log(((words.take(half) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53))
    angle = (words.take(half) >> np.uint64(11)) * (2 * math.pi * 2.0**-53)
    normals = np.empty(2 * half)
    np.multiply(radius, np.cos(angle), out=normals[:half])
    np.multiply(radius, np.sin(angle), out=normals[half:])
    return normals[:count]


def draw_sides(threshold: float, above: NDArray[np.bool_], words: Words) -> Floats:
    """A standard normal each, given that it is at least the threshold (where ``above``) or below it.

    By the inverse of the distribution (Wichura 1988, in the standard library), from the nearer tail: one word each.
    """
    middle = _open_unit(words.take(above.size))
    outside = tail(threshold)
    chance = np.where(above, outside, 1 - outside) * middle
    drawn = np.asarray(_inverse(chance), dtype=np.float64)
    return np.where(above, np.maximum(-drawn, threshold), np.minimum(drawn, threshold))


def _open_unit(words: WordArray) -> Floats:
    """Numbers strictly between 0 and 1, of 52 bits and a half, from as many words."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
