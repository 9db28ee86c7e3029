"""Which of many independent events of small probability happen, without looking at those that do not.

Of N events each happens with probability exactly q = count/2^62. The number of events between two that happen is
geometric, P(gap ≥ k) = (1-q)^k, so gap = ⌊ln(1-V)/ln(1-q)⌋ for a uniform V; time and memory grow with what happens.

The draw is exact. V has as many binary digits as it takes: its first 64 are one word, and floats with proven bounds decide
nearly every gap from them. Where the bounds leave two gaps open, more words are taken, and (1-q)^k is compared with 1-V in
integers rounded both ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL, TOTAL_BITS
from graphveil.channels.words import WordArray, Words

# Gaps that are drawn together.
BLOCK = 1 << 20
WORD_BITS = 64
# Relative error of the quotient of two logarithms: each is off by a few units of 2^-53 (numpy is tested for at most 4), as are its
# argument, which loses its last bits, and the division. The sum is below 2^-48 with room to spare.
SLACK = 2.0**-48
# No place is beyond: larger gaps count as this one.
FARTHEST = 1 << 62


def happened(events: int, count: int, words: Words) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Block by block, from where to where it goes and which of its events happen, each with probability count/2^62.

    The count is at most 2^61. Blocks together are all events, in order.
    """
    start = 0
    while start < events:
        if count == 0:
            yield start, events, np.empty(0, dtype=np.int64)
            return
        left = events - start
        gaps = draw_gaps(np.full(_block(left, count), count, dtype=np.int64), left, words)
        places = start + np.cumsum(gaps + 1) - 1
        last = min(int(places[-1]) + 1, events)
        yield start, last, places[places < events]
        start = last


def happened_in_rows(
    lengths: NDArray[np.int64], counts: NDArray[np.int64], words: Words
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for many rows, each with events and a probability of its own: the rows and the places in them, sorted."""
    active = np.flatnonzero((lengths > 0) & (counts > 0))
    starts = np.zeros(len(lengths), dtype=np.int64)
    found_rows, found_places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    while active.size:
        left = lengths[active] - starts[active]
        expected = left * (counts[active] / TOTAL)
        size = np.minimum(np.ceil(expected + np.sqrt(expected)), left).astype(np.int64)
        rows = np.repeat(active, size)
        steps = draw_gaps(counts[rows], np.repeat(left, size), words) + 1
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
    """How many gaps to draw for so many events: about as many as happen, and so few that their sum is no overflow."""
    expected = events * (count / TOTAL)
    wanted = math.ceil(expected + math.sqrt(expected))
    return max(1, min(wanted, events, BLOCK, FARTHEST // (events + 1)))


def draw_gaps(counts: NDArray[np.int64], limits: NDArray[np.int64] | int, words: Words) -> NDArray[np.int64]:
    """For each count how many events do not happen before the next one does; at most its limit, from which on all are alike."""
    first = words.take(counts.size)
    limits = np.broadcast_to(np.asarray(limits, dtype=np.int64), counts.shape)
    low, high = bounds(counts, first)
    # Of two floats that a limit of more than 53 bits lies between the lower one may be taken: the gap is then open.
    gaps = np.minimum(np.minimum(low, FARTHEST).astype(np.int64), limits)
    open_ = (gaps < limits) & (low != np.minimum(high, limits))
    for place in np.flatnonzero(open_).tolist():
        gaps[place] = exact_gap(
            int(counts[place]), int(first[place]), int(gaps[place]), int(limits[place]), words
        )
    return gaps


def bounds(counts: NDArray[np.int64], first: WordArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the largest gap that the first 64 digits of V leave possible, as floats; the largest may be infinite."""
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


def exact_gap(count: int, first: int, least: int, limit: int, words: Words) -> int:
    """The gap that V, whose first word is given, has, at least ``least`` and at most ``limit``; more words are taken as needed."""
    drawn = Uniform(first, words)
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

    def __init__(self, first: int, words: Words) -> None:
        self.digits, self.bits, self.words = first, WORD_BITS, words

    def below_power(self, count: int, exponent: int) -> bool:
        """Whether 1-V < (1-q)^exponent, so that the gap is at least the exponent."""
        while True:
            low, high = power_bounds(TOTAL - count, exponent, self.bits + WORD_BITS)
            # 1-V lies between these two, as integers over 2^bits.
            least, most = (1 << self.bits) - self.digits - 1, (1 << self.bits) - self.digits
            if most << WORD_BITS <= low:
                return True
            if least << WORD_BITS >= high:
                return False
            self.digits = self.digits << WORD_BITS | int(self.words.take(1)[0])
            self.bits += WORD_BITS


def power_bounds(base: int, exponent: int, bits: int) -> tuple[int, int]:
    """Two integers over 2^bits with (base/2^62)^exponent between them; by squaring, rounded down and up.

    A product of two numbers below 1 that are off by a unit is off by three at most, so an exponent of b binary digits loses
    some 2b bits; as many more are carried.
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
