"""What answers count in an estimate, and how far estimates are off."""

import math

import numpy as np
import pytest

from graphveil.channels import onebit
from graphveil.channels.channel import Channel
from graphveil.channels.exact import TOTAL, Claim
from graphveil.mechanisms.ppm_answers import Decoding, RandomizedLevels, Way
from graphveil.mechanisms.ppm_losses import EntryErrors, largest_variance

EQUAL = [0.5, 0.5]
SIZE = 6


def never_told():
    """Two levels, each of which is randomized to either with probability 1/2."""
    table = np.full((2, 2), TOTAL // 2, dtype=np.int64)
    levels = np.array([1.0, 2.0])
    return RandomizedLevels(Channel("even", table, levels, levels, Claim(0.0)), 2)


def decoding(strict=1.0, loose=3.0):
    ways = tuple((Way(1, onebit(epsilon)), Way(2, onebit(epsilon))) for epsilon in (strict, loose))
    return Decoding(ways, SIZE, never_told(), 2)


def test_a_sign_counts_by_the_mean_response_of_the_levels():
    response = (math.tanh(0.5) + math.tanh(1.5)) / 2
    assert decoding().table(EQUAL)[0] == pytest.approx([-SIZE / response, SIZE / response, 0.0])


def test_a_sign_counts_less_where_more_are_answered():
    table = decoding().table(EQUAL)
    assert table[1] == pytest.approx(table[0] / 2)


def test_a_blank_adds_nothing():
    assert decoding().table(EQUAL)[:, 2].tolist() == [0.0, 0.0]


def test_where_there_is_one_level_signs_count_by_its_response():
    assert decoding().table([0, 1])[0, 1] == pytest.approx(SIZE / math.tanh(1.5))


def test_the_mean_square_of_one_bit_is_the_same_for_all_values():
    squares = EntryErrors(decoding()).mean_squares(EQUAL)
    response = (math.tanh(0.5) + math.tanh(1.5)) / 2
    assert squares == pytest.approx(np.array([[SIZE, SIZE], [SIZE / 2, SIZE / 2]]) / response**2)


def test_the_largest_variance_of_one_bit_is_at_the_middle():
    response = (math.tanh(0.5) + math.tanh(1.5)) / 2
    assert EntryErrors(decoding()).variances(EQUAL) == pytest.approx(np.array([SIZE, SIZE / 2]) / response**2)


def test_where_levels_are_alike_the_error_is_the_variance_at_the_ends():
    response = math.tanh(0.5)
    expected = (SIZE + SIZE / 2) / 2 / response**2 - 1
    assert EntryErrors(decoding(1.0, 1.0)).by_level(EQUAL) == pytest.approx([expected, expected])


@pytest.mark.parametrize(
    ("squares", "largest"), [([2.0, 2.0], 2.0), ([1.0, 3.0], 2.25), ([1.0, 7.0], 6.0), ([7.0, 1.0], 6.0)]
)
def test_the_largest_variance_is_found_between_the_inputs(squares, largest):
    assert largest_variance(np.array([-1.0, 1.0]), np.array(squares)) == pytest.approx(largest)


def test_codes_that_no_way_has_add_nothing():
    ways = ((Way(1, onebit(1.0)), Way(1, onebit(1.0), 2)),) * 2
    table = Decoding(ways, SIZE, never_told(), 4).table(EQUAL)
    assert table[0, 2:].tolist() == [0.0, 0.0, 0.0] and table[1, :2].tolist() == [0.0, 0.0]
