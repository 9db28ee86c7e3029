"""Exact draws in integer arithmetic: geometric numbers, rare events among many, the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL, TOTAL_BITS, Loss
from graphveil.channels.sampling import RandomBits, WordArray

WORD_BITS = 64
# What floats may be off by: a few roundings in the last of 53 binary digits, taken eight times as large.
ROUNDING = 2.0**-50
# Numbers that are drawn together: sums of so many stay below 2^63 on any line of at most 2^47 places.
BLOCK, MAX_PLACES = 1 << 14, 1 << 47


def geometric(chance: Fraction, count: int, random_bits: RandomBits) -> NDArray[np.int64]:
    """Draw exact numbers of failures before the first success.

    Parameters
    ----------
    chance
        The probability of a success, strictly between 0 and 1.
    count
        How many numbers to draw.
    random_bits
        The source of random words.
    """
    digits = random_bits.take(count)
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
        numbers[place] = _worked_out(chance, int(digits[place]), random_bits)
    return numbers


def noisy_counts(
    counts: NDArray[np.int64], most: NDArray[np.int64], ratio: Fraction, random_bits: RandomBits
) -> NDArray[np.int64]:
    """Add two-sided geometric noise, the difference of two geometric numbers, and clip to what is possible.

    Parameters
    ----------
    counts
        int64: the true counts.
    most
        int64, of the same shape: the largest possible counts.
    ratio
        The factor by which a noisy count is likelier than the next farther one.
    random_bits
        The source of random words.
    """
    more, less = (geometric(1 - ratio, counts.size, random_bits).reshape(counts.shape) for _ in range(2))
    noisy: NDArray[np.int64] = np.clip(counts + more - less, 0, most)
    return noisy


@lru_cache(maxsize=1024)
def noisy_chances(count: int, most: int, ratio: Fraction) -> tuple[Fraction, ...]:
    """Return the probability of every result of `noisy_counts` from 0 to the largest.

    Parameters
    ----------
    count, most
        The true count, and the largest possible one.
    ratio
        The ratio of the noise.
    """
    if most == 0:
        return (Fraction(1),)
    ends, inner = 1 / (1 + ratio), (1 - ratio) / (1 + ratio)
    return tuple(
        ratio ** abs(number - count) * (ends if number in (0, most) else inner) for number in range(most + 1)
    )


@lru_cache(maxsize=256)
def _rate(chance: Fraction) -> float:
    """Return -ln(1-p) as the nearest float, up to rounding."""
    return float(sum(Loss.of(1 / (1 - chance)).bounds()) / 2)


def _worked_out(chance: Fraction, digits: int, random_bits: RandomBits) -> int:
    """Return one number from the first binary digits of V, drawing more digits as needed."""
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
        digits = digits << WORD_BITS | int(random_bits.take(1)[0])
        known += WORD_BITS


def hits(places: int, chance: Fraction, random_bits: RandomBits) -> NDArray[np.int64]:
    """Draw the places that are hit, in order, each independently with exactly the same probability.

    Parameters
    ----------
    places
        The number of places.
    chance
        The probability of a hit, above 0 and at most 1.
    random_bits
        The source of random words.
    """
    if chance == 1:
        return np.arange(places, dtype=np.int64)
    found, last = [np.empty(0, dtype=np.int64)], -1
    while last < places:
        expected = (places - last) * float(chance)
        size = min(BLOCK, int(expected + 3 * math.sqrt(expected)) + 2)
        drawn = last + np.cumsum(geometric(chance, size, random_bits) + 1)
        found.append(drawn[drawn < places])
        last = int(drawn[-1])
    return np.concatenate(found)


def layers(places: int, chance: Fraction, depth: int, random_bits: RandomBits) -> Iterator[NDArray[np.int64]]:
    """Draw hits in layers of a random order, of which only the first ones need be drawn.

    Every hit has a rank, r or more with probability 2^-r. The first layer holds the hits of rank ``depth`` or
    more, each further one those of the next lower rank, the last one those of rank 0. A layer's places may
    have been in an earlier one, where they then belong: the probability used is that of a place that has not
    been.

    Parameters
    ----------
    places
        The number of places.
    chance
        The probability of a hit.
    depth
        The rank of the first layer.
    random_bits
        The source of random words.
    """
    yield hits(places, chance / 2**depth, random_bits)
    for rank in range(depth - 1, -1, -1):
        earlier = chance / 2 ** (rank + 1)
        yield hits(places, earlier / (1 - earlier), random_bits)


# Gaps that are drawn together.
SKIP_BLOCK = 1 << 20
# Relative error of the quotient of two logarithms: each is off by a few units of 2^-53 (numpy is tested for at most 4), as are its
# argument, which loses its last bits, and the division. The sum is below 2^-48 with room to spare.
SLACK = 2.0**-48
# No place is beyond: larger gaps count as this one.
FARTHEST = 1 << 62


def happened(
    events: int, count: int, random_bits: RandomBits
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Draw which of many events happen, block by block.

    Yields the start and the stop of a block, and the places of its events that happen. Together the blocks
    cover all events, in order.

    Parameters
    ----------
    events
        The number of events.
    count
        Each event has probability count/2^62; at most 2^61.
    random_bits
        The source of random words.
    """
    start = 0
    while start < events:
        if count == 0:
            yield start, events, np.empty(0, dtype=np.int64)
            return
        left = events - start
        gaps = draw_gaps(np.full(_block(left, count), count, dtype=np.int64), left, random_bits)
        places = start + np.cumsum(gaps + 1) - 1
        last = min(int(places[-1]) + 1, events)
        yield start, last, places[places < events]
        start = last


def happened_in_rows(
    lengths: NDArray[np.int64], counts: NDArray[np.int64], random_bits: RandomBits
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw which events happen in many rows; return the rows and the places in them, sorted.

    Parameters
    ----------
    lengths
        (rows,) int64: the number of events of each row.
    counts
        (rows,) int64: the probability of an event of each row, out of 2^62.
    random_bits
        The source of random words.
    """
    active = np.flatnonzero((lengths > 0) & (counts > 0))
    starts = np.zeros(len(lengths), dtype=np.int64)
    found_rows, found_places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    while active.size:
        left = lengths[active] - starts[active]
        expected = left * (counts[active] / TOTAL)
        size = np.minimum(np.ceil(expected + np.sqrt(expected)), left).astype(np.int64)
        rows = np.repeat(active, size)
        steps = draw_gaps(counts[rows], np.repeat(left, size), random_bits) + 1
        ends = np.cumsum(size)
        sums = np.cumsum(steps)
        before = np.repeat(sums[ends - 1] - np.add.reduceat(steps, ends - size), size)
        places = starts[rows] + sums - before - 1
        inside = places < lengths[rows]
        found_rows.append(rows[inside])
        found_places.append(places[inside])
        starts[active] = places[ends - 1] + 1
        active = active[starts[active] < lengths[active]]
    rows, places = np.concatenate(found_rows), np.concatenate(found_places)
    order = np.lexsort((places, rows))
    return rows[order], places[order]


def _block(events: int, count: int) -> int:
    """Return how many gaps to draw: about as many as events happen, and few enough not to overflow."""
    expected = events * (count / TOTAL)
    wanted = math.ceil(expected + math.sqrt(expected))
    return max(1, min(wanted, events, SKIP_BLOCK, FARTHEST // (events + 1)))


def draw_gaps(
    counts: NDArray[np.int64], limits: NDArray[np.int64] | int, random_bits: RandomBits
) -> NDArray[np.int64]:
    """Draw, for each count, how many events do not happen before the next one does.

    Parameters
    ----------
    counts
        (gaps,) int64: the probability of an event, out of 2^62.
    limits
        The largest gap, for each or for all: longer gaps count as this one.
    random_bits
        The source of random words.
    """
    first = random_bits.take(counts.size)
    limits = np.broadcast_to(np.asarray(limits, dtype=np.int64), counts.shape)
    low, high = bounds(counts, first)
    # Of two floats that a limit of more than 53 bits lies between the lower one may be taken: the gap is then open.
    gaps = np.minimum(np.minimum(low, FARTHEST).astype(np.int64), limits)
    open_ = (gaps < limits) & (low != np.minimum(high, limits))
    for place in np.flatnonzero(open_).tolist():
        gaps[place] = exact_gap(
            int(counts[place]), int(first[place]), int(gaps[place]), int(limits[place]), random_bits
        )
    return gaps


def bounds(counts: NDArray[np.int64], first: WordArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest gap that the first 64 digits of V leave possible.

    Both are float64; the largest may be infinite.
    """
    # 1-V lies in (rest, rest + 1]·2^-64. Whichever of V and 1-V is small is taken, so that neither loses its leading digits.
    rest = ~first
    scale = 2.0**-WORD_BITS
    small = first >> np.uint64(WORD_BITS - 1) == 0
    upper = (rest.astype(np.float64) + 1.0) * scale
    logarithm = np.log1p(-(first * scale), where=small, out=np.empty(first.size))
    np.log(upper, where=~small, out=logarithm)
    rate = -np.log1p(-(counts / TOTAL))
    quotient = -logarithm / rate
    with np.errstate(divide="ignore"):
        # From one end of the cell to the other, -ln(1-V) grows by at most the cell's width over the smaller 1-V.
        width = 1.0 / (rest.astype(np.float64) * rate)
    low = quotient * (1 - SLACK)
    high = (quotient + width * (1 + SLACK)) * (1 + SLACK)
    return np.floor(low), np.floor(high)


def exact_gap(count: int, first: int, least: int, limit: int, random_bits: RandomBits) -> int:
    """Return the gap of V exactly, drawing more words as needed.

    Parameters
    ----------
    count
        The probability of an event, out of 2^62.
    first
        The first word of V.
    least, limit
        Bounds of the gap.
    random_bits
        The source of further words.
    """
    drawn = Uniform(first, random_bits)
    known, step = least, 1
    while known < limit and drawn.below_power(count, min(known + step, limit)):
        known, step = min(known + step, limit), 2 * step
    beyond = min(known + step, limit)
    while known + 1 < beyond:
        middle = (known + beyond) // 2
        known, beyond = (middle, beyond) if drawn.below_power(count, middle) else (known, middle)
    return known


class Uniform:
    """A uniform number V whose binary digits are drawn when they are needed, a word at a time."""

    def __init__(self, first: int, random_bits: RandomBits) -> None:
        self.digits, self.bits, self.random_bits = first, WORD_BITS, random_bits

    def below_power(self, count: int, exponent: int) -> bool:
        """Return whether 1-V < (1-q)^exponent, so that the gap is at least the exponent."""
        while True:
            low, high = power_bounds(TOTAL - count, exponent, self.bits + WORD_BITS)
            # 1-V lies between these two, as integers over 2^bits.
            least, most = (1 << self.bits) - self.digits - 1, (1 << self.bits) - self.digits
            if most << WORD_BITS <= low:
                return True
            if least << WORD_BITS >= high:
                return False
            self.digits = self.digits << WORD_BITS | int(self.random_bits.take(1)[0])
            self.bits += WORD_BITS


def power_bounds(base: int, exponent: int, bits: int) -> tuple[int, int]:
    """Return two integers over 2^bits with (base/2^62)^exponent between them.

    Computed by squaring, rounded down and up. A product of two numbers below 1 that are off by a unit is off
    by three at most, so an exponent of b binary digits loses some 2b bits; as many more are carried.

    Parameters
    ----------
    base
        An integer out of 2^62.
    exponent
        The power.
    bits
        The precision of the result.
    """
    spare = 2 * exponent.bit_length() + 8
    precision = bits + spare
    shift = precision - TOTAL_BITS
    low_base = high_base = base << shift
    low = high = 1 << precision
    for digit in bin(exponent)[2:]:
        low, high = low * low >> precision, -(-high * high >> precision)
        if digit == "1":
            low, high = low * low_base >> precision, -(-high * high_base >> precision)
    return low >> spare, -(-high >> spare)


Floats = NDArray[np.float64]

# Thresholds beyond have a tail below 10^-57.
MAX_THRESHOLD = 16.0
# Digits of a tail probability that are right, whatever the threshold.
DIGITS = 60

_inverse = np.frompyfunc(NormalDist().inv_cdf, 1, 1)


@lru_cache(maxsize=128)
def tail_bounds(threshold: float) -> tuple[Fraction, Fraction]:
    """Return two fractions with P[N(0, 1) ≥ g] strictly between them, less than 10^-50 of it apart.

    0 ≤ g ≤ 16.

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
    """Return π to the digits of the context.

    16 arctan(1/5) - 4 arctan(1/239) (Machin 1706), in integers with 10 spare digits.
    """
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
    """Return φ(g) = e^{-g²/2}/√(2π)."""
    return math.exp(-(threshold**2) / 2) / math.sqrt(2 * math.pi)


def tail(threshold: float) -> float:
    """Return P[N(0, 1) ≥ g] as a float."""
    return math.erfc(threshold / math.sqrt(2)) / 2


def draw_normals(count: int, random_bits: RandomBits) -> Floats:
    """Draw independent standard normals by Box and Muller (1958).

    It takes one 64-bit word each, and one more for an odd count. √(-2 ln U)·(cos 2πT, sin 2πT) with U in (0,
    1] and T in [0, 1) of 53 bits: no draw is beyond 8.58.
    """
    half = (count + 1) // 2
    radius = np.sqrt(-2 * np.log(((random_bits.take(half) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53))
    angle = (random_bits.take(half) >> np.uint64(11)) * (2 * math.pi * 2.0**-53)
    normals = np.empty(2 * half)
    np.multiply(radius, np.cos(angle), out=normals[:half])
    np.multiply(radius, np.sin(angle), out=normals[half:])
    return normals[:count]


def draw_sides(threshold: float, above: NDArray[np.bool_], random_bits: RandomBits) -> Floats:
    """Draw standard normals, each given that it is at least the threshold or below it.

    By the inverse of the distribution (Wichura 1988, in the standard library), from the nearer tail: one word each.

    Parameters
    ----------
    threshold
        g, at least 0.
    above
        (count,) bool: whether a number is at least the threshold.
    random_bits
        The source of random words.
    """
    middle = _open_unit(random_bits.take(above.size))
    outside = tail(threshold)
    chance = np.where(above, outside, 1 - outside) * middle
    drawn = np.asarray(_inverse(chance), dtype=np.float64)
    return np.where(above, np.maximum(-drawn, threshold), np.minimum(drawn, threshold))


def _open_unit(words: WordArray) -> Floats:
    """Return numbers strictly between 0 and 1, of 52 bits and a half, from as many words."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
