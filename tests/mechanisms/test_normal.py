"""The standard normal: bounds of its tail, and draws from it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm, truncnorm

from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms.exact_sampling import density, draw_normals, draw_sides, tail, tail_bounds
from tests.channels.reference import GivenWords
from tests.together import together

thresholds = st.floats(0, 16, allow_subnormal=False)


@given(thresholds)
def test_the_tail_lies_between_its_bounds_as_scipy_has_it(threshold):
    low, high = tail_bounds(threshold)
    assert float(low) == pytest.approx(float(norm.sf(threshold)), rel=1e-13 * (1 + threshold**2))
    assert 0 < (high - low) / low < Fraction(1, 10**50)


def test_the_tail_at_zero_is_a_half():
    low, high = tail_bounds(0.0)
    assert low < Fraction(1, 2) < high


# 58 digits of P[N(0, 1) ≥ g] for g as a float, from the complementary error function at 150 digits.
KNOWN_TAILS = {
    0.1: "4.60172162722971016331066092297872647188763402570139143478e-1",
    1.0: "1.586552539314570514147674543679620775220870332733956090126e-1",
    8.123: "2.273996600166574521423286930428757942875390226267755065963e-16",
    13.5048828125: "7.317321698081847247109758426449380838424521543867835751034e-42",
    16.0: "6.388754400538087281275482574917666624886720235370432553966e-58",
}


@pytest.mark.parametrize("threshold", KNOWN_TAILS)
def test_the_bounds_hold_to_all_their_digits(threshold):
    known = Fraction(KNOWN_TAILS[threshold])
    low, high = tail_bounds(threshold)
    last = known / 10**56
    assert low - last < known < high + last
    assert (high - low) / known < Fraction(1, 10**50)


@given(thresholds)
def test_floats_of_tail_and_density_are_right(threshold):
    assert tail(threshold) == pytest.approx(float(norm.sf(threshold)), rel=1e-12)
    assert density(threshold) == pytest.approx(float(norm.pdf(threshold)), rel=1e-12)


def test_normals_come_from_their_words():
    half, quarter = 2**63, 2**62
    drawn = draw_normals(4, GivenWords([half, half, 0, quarter]))
    radius = math.sqrt(2 * math.log(2))
    assert drawn == pytest.approx([radius, 0, 0, radius], abs=1e-12)


@pytest.mark.parametrize(("count", "words"), [(0, 0), (1, 2), (4, 4), (5, 6)])
def test_a_normal_takes_a_word(count, words):
    source = GivenWords([1] * words)
    assert draw_normals(count, source).shape == (count,)
    assert source.words == []


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_no_word_gives_an_infinite_normal(word):
    assert np.abs(draw_normals(2, GivenWords([word, word]))).max() < 8.58


@pytest.mark.statistical
def test_normals_are_normal():
    """Kolmogorov and Smirnov on 100,000 draws; false alarm 1e-6, seed fixed."""
    assert kstest(draw_normals(100_000, SeededBits(1)), norm.cdf).pvalue > 1e-6


@pytest.mark.statistical
def test_the_two_halves_of_the_normals_are_uncorrelated():
    """z-test of the correlation of 50,000 pairs, and of their squares; false alarm 1e-6, seed fixed."""
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
