"""Exact draws, whatever the floats say: events of small probability by skipping, geometric numbers, and normals."""

import math
import time
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import kstest, norm, truncnorm

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import exact_sampling as skipping
from graphveil.mechanisms.exact_sampling import (
    bounds,
    density,
    draw_gaps,
    draw_normals,
    draw_sides,
    exact_gap,
    geometric,
    happened,
    happened_in_rows,
    hits,
    layers,
    power_bounds,
    tail,
    tail_bounds,
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
    # Beyond the limit it is the limit.
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


def test_no_events_and_those_of_probability_zero_never_happen_and_take_no_words():
    assert places(10**9, 0, GivenWords([])) == places(0, TOTAL // 2, GivenWords([])) == []
    rows, at = happened_in_rows(np.array([5, 0]), np.array([0, TOTAL // 2]), GivenWords([]))
    assert rows.size == at.size == 0


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


# Geometric numbers: every boundary between two of them, what decides there, and how often each comes


HALF = Fraction(1, 2)


def first_word(chance, number):
    """The first word of which V is at least 1-(1-p)^number, where so many failures begin; 80 digits."""
    with localcontext() as context:
        context.prec = 80
        never = 1 - Decimal(chance.numerator) / Decimal(chance.denominator)
        return int((1 - (number * never.ln()).exp()) * 2**64) + 1


@together(
    ("chance", "numbers"),
    [
        (Fraction(1, 3), [1, 40]),
        (Fraction(2, 7), [9]),
        (Fraction(1, 10**9), [1, 10**9]),
        (Fraction(3, 2**60), [2**58]),
        (1 - Fraction(1, 10**6), [2]),
    ],
)
def test_numbers_change_at_the_words_where_the_distribution_does(chance, numbers):
    for number in numbers:
        word = first_word(chance, number)
        assert geometric(chance, 1, GivenWords([word, *[2**63] * 3])) == number
        # The word before may hold the boundary itself: the one before that cannot.
        assert geometric(chance, 1, GivenWords([word - 2, *[2**63] * 3])) < number


@together(
    ("words", "number"),
    [
        # Just below a boundary further digits are asked for.
        *(([2**63 - 1, further], 0) for further in (0, 2**63, 2**64 - 2)),
        # On a boundary the first further digit that is set decides.
        ([2**63, 0, 0, 1], 1),
        # The last word leaves the number open until further digits come.
        ([2**64 - 1, 2**62], 64),
    ],
)
def test_further_digits_decide_at_a_boundary(words, number):
    random_bits = GivenWords(words)
    assert geometric(HALF, 1, random_bits) == number and random_bits.words == []


@pytest.mark.statistical
@pytest.mark.parametrize("chance", [Fraction(1, 20), HALF, Fraction(999, 1000)])
def test_each_number_comes_as_often_as_it_should(chance):
    """χ² of 400,000 numbers; false alarm 1e-6 each, seed fixed."""
    drawn, p = geometric(chance, 400_000, SeededBits(1)), float(chance)
    last = max(1, int(stats.geom.ppf(1 - 1e-4, p)) - 1)
    seen = np.bincount(np.minimum(drawn, last), minlength=last + 1)
    shares = p * (1 - p) ** np.arange(last + 1)
    shares[last] = (1 - p) ** last
    assert stats.chisquare(seen, shares * drawn.size).pvalue > 1e-6


def test_hits_are_different_places_in_order():
    assert hits(4, Fraction(1), GivenWords([])).tolist() == [0, 1, 2, 3]
    assert hits(0, Fraction(1, 10**6), SeededBits(0)).size == hits(0, Fraction(1, 3), SeededBits(0)).size == 0
    found = hits(100_000, Fraction(1, 4), SeededBits(2))
    assert (np.diff(found) > 0).all() and found[0] >= 0 and found[-1] < 100_000
    assert in_layers(500, Fraction(1), 5, 6).max() == 5


def test_words_grow_with_the_hits_and_not_with_the_places():
    random_bits = CountedBits(3)
    found = hits(1 << 47, Fraction(1000, 1 << 47), random_bits)
    assert random_bits.taken < 3 * found.size
    found = places(1 << 60, 1 << 4, SeededBits(1))
    assert all(0 <= place < 1 << 60 for place in found)
    assert found == sorted(found)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("places", "chance"), [(200_003, Fraction(1, 3)), (1 << 40, Fraction(20_000, 1 << 40))]
)
def test_hits_are_as_many_as_expected_and_lie_everywhere_alike(places, chance):
    """z-test of their number and χ² of 50 equal parts; false alarm below 1e-6 each, seed fixed."""
    found, p = hits(places, chance, SeededBits(4)), float(chance)
    assert abs(found.size - places * p) < 5 * np.sqrt(places * p * (1 - p))
    edges = np.linspace(0, places, 51).astype(np.int64)
    seen = np.diff(np.searchsorted(found, edges))
    assert stats.chisquare(seen, np.diff(edges) / places * found.size).pvalue > 1e-6


def in_layers(places, chance, depth, seed):
    """For each place the layer that it first came in; one more than there are where it never did."""
    at = np.full(places, depth + 1)
    for layer, drawn in enumerate(layers(places, chance, depth, SeededBits(seed))):
        at[drawn] = np.minimum(at[drawn], layer)
    return at


@pytest.mark.statistical
@pytest.mark.parametrize("chance", [Fraction(2, 5), Fraction(1)])
def test_each_layer_has_its_share_of_the_places(chance):
    """χ² of 300,000 places; false alarm 1e-6 each, seed fixed."""
    places, depth = 300_000, 4
    seen = np.bincount(in_layers(places, chance, depth, 7), minlength=depth + 2)
    shares = np.array([1 / 2**depth, *(1 / 2 ** (rank + 1) for rank in range(depth - 1, -1, -1)), 0])
    shares = shares * float(chance) + np.array([0] * (depth + 1) + [1 - float(chance)])
    there = shares > 0
    assert seen[~there].sum() == 0
    assert stats.chisquare(seen[there], shares[there] * places).pvalue > 1e-6


# The standard normal: bounds of its tail, and draws from it


thresholds = st.floats(0, 16, allow_subnormal=False)


@given(thresholds)
@example(0.0)
def test_the_tail_lies_between_its_bounds_and_floats_are_right_as_scipy_has_it(threshold):
    low, high = tail_bounds(threshold)
    assert float(low) == pytest.approx(float(norm.sf(threshold)), rel=1e-13 * (1 + threshold**2))
    assert 0 < (high - low) / low < Fraction(1, 10**50)
    assert threshold or low < Fraction(1, 2) < high
    assert tail(threshold) == pytest.approx(float(norm.sf(threshold)), rel=1e-12)
    assert density(threshold) == pytest.approx(float(norm.pdf(threshold)), rel=1e-12)


# 58 digits of P[N(0, 1) ≥ g] for g as a float, from the complementary error function at 150 digits.
KNOWN_TAILS = {
    0.1: "4.60172162722971016331066092297872647188763402570139143478e-1",
    1.0: "1.586552539314570514147674543679620775220870332733956090126e-1",
    8.123: "2.273996600166574521423286930428757942875390226267755065963e-16",
    13.5048828125: "7.317321698081847247109758426449380838424521543867835751034e-42",
    16.0: "6.388754400538087281275482574917666624886720235370432553966e-58",
}


def test_the_bounds_hold_to_all_their_digits():
    for threshold, digits in KNOWN_TAILS.items():
        known, (low, high) = Fraction(digits), tail_bounds(threshold)
        last = known / 10**56
        assert low - last < known < high + last, threshold
        assert (high - low) / known < Fraction(1, 10**50), threshold


def test_normals_come_from_their_words():
    half, quarter = 2**63, 2**62
    drawn = draw_normals(4, GivenWords([half, half, 0, quarter]))
    radius = math.sqrt(2 * math.log(2))
    assert drawn == pytest.approx([radius, 0, 0, radius], abs=1e-12)


def test_a_normal_takes_a_word_and_none_gives_an_infinite_one():
    for count, words in ((0, 0), (1, 2), (4, 4), (5, 6)):
        source = GivenWords([1] * words)
        assert draw_normals(count, source).shape == (count,)
        assert source.words == []
    for word in (0, 2**64 - 1):
        assert np.abs(draw_normals(2, GivenWords([word, word]))).max() < 8.58


@pytest.mark.statistical
def test_normals_are_normal_and_their_two_halves_uncorrelated():
    """Kolmogorov and Smirnov on 100,000 draws; false alarm 1e-6, seed fixed."""
    assert kstest(draw_normals(100_000, SeededBits(1)), norm.cdf).pvalue > 1e-6
    # z-test of the correlation of 50,000 pairs, and of their squares; false alarm 1e-6, seed fixed.
    first, second = draw_normals(100_000, SeededBits(2)).reshape(2, -1)
    limit = norm.isf(1e-6 / 4) / math.sqrt(first.size)
    assert abs(np.corrcoef(first, second)[0, 1]) < limit
    assert abs(np.corrcoef(first**2, second**2)[0, 1]) < limit


@pytest.mark.statistical
@pytest.mark.parametrize("threshold", [0.0, 0.5, 3.0, 13.5])
@pytest.mark.parametrize("above", [True, False])
def test_the_sides_of_a_threshold_are_truncated_normals(threshold, above):
    """Kolmogorov and Smirnov on 20,000 draws; false alarm 1e-6, seed fixed."""
    drawn = draw_sides(threshold, np.full(20_000, above), SeededBits(3))
    side = truncnorm(threshold, np.inf) if above else truncnorm(-np.inf, threshold)
    assert kstest(drawn, side.cdf).pvalue > 1e-6


@pytest.mark.parametrize("threshold", [0.0, 1.0, 8.0, 16.0])
@together("word", [0, 2**63, 2**64 - 1])
def test_no_word_leaves_its_side(threshold, word):
    inside, outside = draw_sides(threshold, np.array([True, False]), GivenWords([word, word]))
    assert np.isfinite([inside, outside]).all()
    assert outside <= threshold <= inside
