"""Exact geometric numbers, and with them places of a long line that are each hit with the same chance.

How many failures come before the first success of chance p is floor(ln(1-V)/ln(1-p)) for a uniform V. The first 64 binary
digits of V are a random word. Floats say what follows from them, together with how far they may be off; where that leaves two
answers, the same is worked out in long arithmetic, with further words for further digits. So every number has exactly the
probability p(1-p)^k, for any fraction p, and the work grows with the hits and not with the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Loss
from graphveil.channels.words import Words

WORD_BITS = 64
# What floats may be off by: a few roundings in the last of 53 binary digits, taken eight times as large.
ROUNDING = 2.0**-50
# Numbers that are drawn together: sums of so many stay below 2^63 on any line of at most 2^47 places.
BLOCK, MAX_PLACES = 1 << 14, 1 << 47


def geometric(chance: Fraction, count: int, words: Words) -> NDArray[np.int64]:
    """``count`` numbers of failures before the first success of that chance, which lies within 0 and 1; exact."""
    digits = words.take(count)
    rate = _rate(chance)
    share = (digits.astype(np.float64) + 0.5) / 2.0**WORD_BITS
    with np.errstate(all="ignore"):
        exponent = -np.log1p(-share)
        apart = (share * ROUNDING + 2.0**-WORD_BITS) / (1 - share) + exponent * ROUNDING
        middle, error = exponent / rate, (apart + exponent * ROUNDING) / rate
        low, high = np.floor(middle - error), np.floor(middle + error)
        sure = (low == high) & np.isfinite(high)
        numbers = np.where(sure, low, 0.0).astype(np.int64)
    for place in np.flatnonzero(~sure):
        numbers[place] = _worked_out(chance, int(digits[place]), words)
    return numbers


@lru_cache(maxsize=256)
def _rate(chance: Fraction) -> float:
    """-ln(1-p), as near as a float comes to it."""
    return float(sum(Loss.of(1 / (1 - chance)).bounds()) / 2)


def _worked_out(chance: Fraction, digits: int, words: Words) -> int:
    """One number from the first binary digits of V, and from as many more as it takes."""
    known = WORD_BITS
    while True:
        precision = 40 + known // 2
        slow, fast = Loss.of(1 / (1 - chance)).bounds(precision)
        whole = 1 << known
        low = math.floor(Loss.of(Fraction(whole, whole - digits)).bounds(precision)[0] / fast)
        if digits + 1 < whole:
            high = math.floor(Loss.of(Fraction(whole, whole - digits - 1)).bounds(precision)[1] / slow)
            # Bounds of ln 1 are both 0, and a bound just below 0 belongs to 0.
            if max(low, 0) == high:
                return high
        digits = digits << WORD_BITS | int(words.take(1)[0])
        known += WORD_BITS


def hits(places: int, chance: Fraction, words: Words) -> NDArray[np.int64]:
    """The places below ``places`` that are hit, in order: each with exactly that chance, independently of the others."""
    if chance == 1:
        return np.arange(places, dtype=np.int64)
    found, last = [np.empty(0, dtype=np.int64)], -1
    while last < places:
        expected = (places - last) * float(chance)
        size = min(BLOCK, int(expected + 3 * math.sqrt(expected)) + 2)
        drawn = last + np.cumsum(geometric(chance, size, words) + 1)
        found.append(drawn[drawn < places])
        last = int(drawn[-1])
    return np.concatenate(found)


def layers(places: int, chance: Fraction, depth: int, words: Words) -> Iterator[NDArray[np.int64]]:
    """Places that are hit with that chance, laid out in a random order of which only the first layers need be drawn.

    Every hit has a rank of its own, r or more with probability 2^-r. The first layer are hits of rank ``depth`` or more, each
    further one those of the next lower rank, the last one those of rank 0. A layer's places may have been in an earlier
    one, where they then belong: what is drawn is the chance of a place that has not been.
    """
    yield hits(places, chance / 2**depth, words)
    for rank in range(depth - 1, -1, -1):
        earlier = chance / 2 ** (rank + 1)
        yield hits(places, earlier / (1 - earlier), words)
