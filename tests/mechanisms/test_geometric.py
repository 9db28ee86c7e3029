"""Exact geometric numbers: every boundary between two of them, what decides there, and how often each comes."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from graphveil.audit.reports import CountedBits
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms.exact_sampling import geometric, hits, layers
from tests.channels.reference import GivenWords
from tests.together import together

HALF = Fraction(1, 2)


def first_word(chance, number):
    """The first word of which V is at least 1-(1-p)^number, where so many failures begin; 80 digits."""
    with localcontext() as context:
        context.prec = 80
        never = 1 - Decimal(chance.numerator) / Decimal(chance.denominator)
        return int((1 - (number * never.ln()).exp()) * 2**64) + 1


@together(
    ("chance", "number"),
    [
        (Fraction(1, 3), 1),
        (Fraction(1, 3), 40),
        (Fraction(2, 7), 9),
        (Fraction(1, 10**9), 1),
        (Fraction(1, 10**9), 10**9),
        (Fraction(3, 2**60), 2**58),
        (1 - Fraction(1, 10**6), 2),
    ],
)
def test_numbers_change_at_the_words_where_the_distribution_does(chance, number):
    word = first_word(chance, number)
    assert geometric(chance, 1, GivenWords([word, *[2**63] * 3])) == number
    # The word before may hold the boundary itself: the one before that cannot.
    assert geometric(chance, 1, GivenWords([word - 2, *[2**63] * 3])) < number


@pytest.mark.parametrize("further", [0, 2**63, 2**64 - 2])
def test_just_below_a_boundary_further_digits_are_asked_for(further):
    random_bits = GivenWords([2**63 - 1, further])
    assert geometric(HALF, 1, random_bits) == 0 and random_bits.words == []


def test_on_a_boundary_the_first_further_digit_that_is_set_decides():
    random_bits = GivenWords([2**63, 0, 0, 1])
    assert geometric(HALF, 1, random_bits) == 1 and random_bits.words == []


def test_the_last_word_leaves_the_number_open_until_further_digits_come():
    random_bits = GivenWords([2**64 - 1, 2**62])
    assert geometric(HALF, 1, random_bits) == 64 and random_bits.words == []


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


def test_a_chance_of_one_hits_every_place():
    assert hits(4, Fraction(1), GivenWords([])).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("chance", [Fraction(1, 10**6), Fraction(1, 3)])
def test_no_places_are_never_hit(chance):
    assert hits(0, chance, SeededBits(0)).size == 0


def test_hits_are_different_places_in_order():
    found = hits(100_000, Fraction(1, 4), SeededBits(2))
    assert (np.diff(found) > 0).all() and found[0] >= 0 and found[-1] < 100_000


def test_words_grow_with_the_hits_and_not_with_the_places():
    random_bits = CountedBits(3)
    found = hits(1 << 47, Fraction(1000, 1 << 47), random_bits)
    assert random_bits.taken < 3 * found.size


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


def test_all_layers_of_a_chance_of_one_are_all_places():
    assert in_layers(500, Fraction(1), 5, 6).max() == 5


@pytest.mark.statistical
@pytest.mark.parametrize("chance", [Fraction(2, 5), Fraction(1)])
def test_each_layer_has_its_share_of_the_places(chance):
    """χ² of 300,000 places; false alarm 1e-6 each, seed fixed."""
    places, depth = 300_000, 4
    seen = np.bincount(in_layers(places, chance, depth, 7), minlength=depth + 2)
    shares = [
        float(chance) / 2**depth,
        *(float(chance) / 2 ** (rank + 1) for rank in range(depth - 1, -1, -1)),
    ]
    if chance < 1:
        shares.append(1 - float(chance))
    assert seen[len(shares) :].sum() == 0
    assert stats.chisquare(seen[: len(shares)], np.array(shares) * places).pvalue > 1e-6
