"""Events of small probability by skipping: exact gaps, whatever the floats say, in time that grows with what happens."""

from __future__ import annotations

import math
import time
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import exact_sampling as skipping
from graphveil.mechanisms.exact_sampling import (
    bounds,
    draw_gaps,
    exact_gap,
    happened,
    happened_in_rows,
    power_bounds,
)
from tests.channels.reference import GivenWords
from tests.together import together

# A half, a quarter, at ε = 1, at ε = 8, at ε = 20, and as small as it can be.
COUNTS = [TOTAL // 2, TOTAL // 4, 1240296268263117824, 1546533300000000, 9505483000, 1]
WORD = 1 << 64


def places(events, count, words):
    return [place for _, _, some in happened(events, count, words) for place in some.tolist()]


def reached(count, gap):
    """P(the gap is below ``gap``): V lies below this."""
    return 1 - Fraction(TOTAL - count, TOTAL) ** gap


def digits(number, words):
    """The first words of a number's binary digits."""
    scaled = math.floor(number * WORD**words)
    return [scaled >> 64 * (words - 1 - place) & (WORD - 1) for place in range(words)]


def gap_of(count, words, limit=10**6):
    return int(draw_gaps(np.array([count], dtype=np.int64), limit, GivenWords(words))[0])


# One gap


@pytest.mark.parametrize("count", COUNTS)
@together("gap", [1, 2, 3, 10, 60])
def test_a_gap_ends_exactly_where_its_probability_says(count, gap):
    """Numbers just below and above P(the gap is shorter), told by the first word, or by the next where that does not tell."""
    first, second = digits(reached(count, gap), 2)
    if first + 1 < WORD:
        assert gap_of(count, [first + 1, *[0] * 4]) >= gap
    if first:
        assert gap_of(count, [first - 1, *[WORD - 1] * 4]) < gap
    if second + 1 < WORD:
        assert gap_of(count, [first, second + 1, *[0] * 4]) >= gap
    if second:
        assert gap_of(count, [first, second - 1, *[WORD - 1] * 4]) < gap


@pytest.mark.parametrize("gap", [5, 7])
def test_as_many_words_are_taken_as_it_takes(gap):
    """A number that agrees with the limit in its first three words is told from it by the fourth."""
    count = COUNTS[2]
    *start, last = digits(reached(count, gap), 4)
    assert gap_of(count, [*start, last + 1]) == gap
    assert gap_of(count, [*start, last - 1]) == gap - 1


@settings(max_examples=200, deadline=None)
@given(st.integers(1, TOTAL // 2), st.integers(0, WORD - 1))
def test_floats_never_leave_the_true_gap_out(count, word):
    low, high = bounds(np.array([count]), np.array([word], dtype=np.uint64))
    first = Fraction(word, WORD)
    # Logarithms with 60 digits decide; the number's cell has two ends.
    precise = Context(prec=60)
    rate = precise.ln(precise.divide(Decimal(TOTAL - count), Decimal(TOTAL)))

    def gap(number: Fraction) -> Decimal:
        rest = 1 - number
        return precise.divide(
            precise.ln(precise.divide(Decimal(rest.numerator), Decimal(rest.denominator))), rate
        )

    assert Decimal(float(low[0])) <= gap(first)
    if word + 1 < WORD:
        assert gap(first + Fraction(1, WORD)) < Decimal(float(high[0])) + 1
    else:
        assert math.isinf(high[0])


def test_floats_decide_nearly_every_gap():
    for count in COUNTS[:-1]:
        low, high = bounds(np.full(100_000, count), SeededBits(3).take(100_000))
        assert (low != high).mean() < 1e-3


def test_the_farthest_gap_is_found_in_integers():
    """All digits of the first word are one: floats have no upper bound there."""
    assert gap_of(TOTAL // 2, [WORD - 1, 0, 0]) == 64
    assert gap_of(TOTAL // 2, [WORD - 1, WORD - 1, 1 << 63, 0]) == 129


def test_a_gap_beyond_the_limit_is_the_limit():
    assert gap_of(TOTAL // 2, [WORD - 1], limit=50) == 50
    assert gap_of(1, [1 << 63], limit=1000) == 1000


@settings(max_examples=100, deadline=None)
@given(st.integers(1, TOTAL // 2), st.integers(0, WORD - 1), st.integers(0, WORD - 1))
def test_integers_alone_find_what_floats_find(count, first, second):
    quick = gap_of(count, [first, second, 0, 0, 0], limit=1 << 40)
    assert exact_gap(count, first, 0, 1 << 40, GivenWords([second, 0, 0, 0])) == quick


@settings(max_examples=100, deadline=None)
@given(st.integers(1, TOTAL), st.integers(0, 300), st.sampled_from([64, 128, 200]))
def test_a_power_lies_between_its_bounds_which_are_close(base, exponent, bits):
    low, high = power_bounds(base, exponent, bits)
    exact = Fraction(base, TOTAL) ** exponent * (1 << bits)
    assert low <= exact <= high <= low + 2


def test_bounds_of_large_powers_stay_close():
    low, high = power_bounds(TOTAL - 1, 1 << 61, 128)
    assert 0 < high - low <= 2
    assert low / 2**128 == pytest.approx(math.exp(-0.5))


# Many events


@pytest.mark.statistical
@pytest.mark.parametrize("count", [TOTAL // 2, TOTAL // 5, TOTAL // 50])
def test_every_set_of_few_events_has_its_exact_probability(count):
    """10^5 draws of 4 events, 16 possible sets: z-tests, false alarm 1e-6 for all together; seed fixed."""
    draws, q = 100_000, count / TOTAL
    rows, at = happened_in_rows(np.full(draws, 4), np.full(draws, count), SeededBits(5))
    sets = np.bincount(rows, weights=2.0**at, minlength=draws).astype(int)
    single = np.array(places(4 * draws, count, SeededBits(6)))
    blocks = np.bincount(single // 4, weights=2.0 ** (single % 4), minlength=draws).astype(int)
    for drawn in (sets, blocks):
        for number, seen in enumerate(np.bincount(drawn, minlength=16)):
            share = q ** number.bit_count() * (1 - q) ** (4 - number.bit_count())
            # The tails of rare sets are Poisson's: 12 more are as unlikely.
            assert abs(seen - draws * share) < 5.6 * math.sqrt(draws * share * (1 - share)) + 12


@pytest.mark.statistical
def test_blocks_are_all_events_and_leave_no_seam(monkeypatch):
    """With blocks of 64 gaps events still happen at the same rate everywhere; z-test, false alarm below 1e-6, seed fixed."""
    monkeypatch.setattr(skipping, "SKIP_BLOCK", 64)
    parts = list(happened(200_000, TOTAL // 10, SeededBits(2)))
    assert len(parts) > 200
    assert [first for first, _, _ in parts] == [0, *(last for _, last, _ in parts[:-1])]
    assert parts[-1][1] == 200_000
    assert all(first <= some.min() and some.max() < last for first, last, some in parts if some.size)
    found = np.concatenate([some for _, _, some in parts])
    assert (np.diff(found) > 0).all()
    assert abs(len(found) - 20_000) < 5 * math.sqrt(200_000 * 0.09)


def test_events_of_probability_zero_never_happen_and_take_no_words():
    assert places(10**9, 0, GivenWords([])) == []
    rows, at = happened_in_rows(np.array([5, 0]), np.array([0, TOTAL // 2]), GivenWords([]))
    assert rows.size == at.size == 0


def test_no_events_take_no_words():
    assert places(0, TOTAL // 2, GivenWords([])) == []


@pytest.mark.statistical
def test_rows_have_their_own_probabilities():
    """z-tests of three rows' totals over 2000 repeats, false alarm below 1e-6 each, seed fixed."""
    counts, lengths = np.array([TOTAL // 2, TOTAL // 100, 0]), np.array([10, 500, 1000])
    rows, at = happened_in_rows(np.tile(lengths, 2000), np.tile(counts, 2000), SeededBits(9))
    assert (at < lengths[rows % 3]).all()
    assert (np.diff(rows * 1000 + at) > 0).all()
    seen = np.bincount(rows % 3, minlength=3)
    for kind in range(3):
        q, size = counts[kind] / TOTAL, lengths[kind] * 2000
        assert abs(seen[kind] - size * q) <= 5 * math.sqrt(size * q * (1 - q))


def test_time_and_words_grow_with_what_happens_and_not_with_the_events():
    """2.5·10^8 events, 1,500 of which happen: fewer than 2,000 words, in far less than a second."""
    random_bits, start = CountedBits(4), time.perf_counter()
    found = places(250_000_000, int(6e-6 * TOTAL), random_bits)
    assert time.perf_counter() - start < 1.0
    assert 1_250 < len(found) < 1_750
    assert random_bits.taken < 2_000


def test_sums_of_gaps_never_overflow():
    found = places(1 << 60, 1 << 4, SeededBits(1))
    assert all(0 <= place < 1 << 60 for place in found)
    assert found == sorted(found)
