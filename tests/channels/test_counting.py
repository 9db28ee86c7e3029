"""Numbers with integer noise: exact for two that differ by one, at any size."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Claim, CountingChannel, counting
from graphveil.channels.exact import exp_below
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from tests.channels.reference import GivenWords, largest_divergence, largest_ratio, precise_exp, precise_log
from tests.together import together

SIZES, EPSILONS = [2, 3, 4, 9, 40], [1e-6, 0.005, 0.3, 1.0, 5.0, 20.0]


@pytest.mark.parametrize("size", SIZES)
@together("epsilon", EPSILONS)
def test_the_stated_loss_is_the_largest_ratio_of_numbers_that_differ_by_one(epsilon, size):
    channel = counting(epsilon, size)
    rows = [channel.row(number) for number in range(size)]
    assert all(sum(row) == TOTAL and min(row) > 0 for row in rows)
    worst = channel.worst
    assert worst.ratio == max(largest_ratio(pair) for pair in pairwise(rows))
    assert abs(worst.likelier - worst.rarer) == 1
    assert Fraction(rows[worst.likelier][worst.output], rows[worst.rarer][worst.output]) == worst.ratio


@together("size", [*SIZES, 1000, 100_000])
@together("epsilon", EPSILONS)
def test_the_budget_is_kept_and_hardly_any_of_it_wasted(epsilon, size):
    ratio = counting(epsilon, size).worst.ratio
    assert Fraction(epsilon) * (1 - Fraction(1, 10**10)) <= precise_log(ratio) <= Fraction(epsilon)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 20), st.integers(2, 3000))
def test_any_budget_and_size_is_kept(epsilon, size):
    channel = counting(epsilon, size)
    assert channel.holds and channel.worst.ratio <= precise_exp(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_noise_has_the_variance_of_two_sided_geometric_noise(epsilon):
    power = math.exp(-epsilon)
    assert counting(epsilon, 5000).variance == pytest.approx(2 * power / (1 - power) ** 2, rel=1e-6)


def test_what_rounding_adds_to_far_noise_is_next_to_nothing():
    """At 100,000 numbers and ε = 0.001: all noise beyond 60,000, where geometric noise has e^-60."""
    assert sum(counting(0.001, 100_000).weights[60_000:].tolist()) / TOTAL < 1e-9


def test_a_word_is_looked_up_among_the_sums_of_counts():
    channel = counting(1.0, 3)
    end, near, middle = (int(channel.weights[at]) for at in (2, 1, 0))
    # Noise of -2, -1, 0, 1 and 2, at its first and its last count.
    sums = np.cumsum([0, end, near, middle, near, end]).tolist()
    words = [edge << 2 for at in range(5) for edge in (sums[at], sums[at + 1] - 1)]
    drawn = channel.respond(np.ones(10, dtype=np.int64), GivenWords(words))
    assert drawn.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2, 2]
    assert channel.respond(np.zeros(10, dtype=np.int64), GivenWords(words)).tolist() == [0] * 6 + [1, 1, 2, 2]


@pytest.mark.statistical
def test_every_number_is_drawn_as_its_row_says():
    """200,000 draws of each of 5 numbers: z-tests of 25 shares, false alarm below 1e-6 together; seed fixed."""
    channel, draws = counting(0.8, 5), 200_000
    for number in range(5):
        codes = channel.respond(np.full(draws, number), SeededBits(number))
        shares = np.array(channel.row(number)) / TOTAL
        seen = np.bincount(codes, minlength=5)
        assert (np.abs(seen - draws * shares) < 5.6 * np.sqrt(draws * shares * (1 - shares))).all()


def test_beyond_the_budget_delta_is_that_of_numbers_that_differ_by_one():
    channel, power = counting(1.0, 4), exp_below(Fraction(1, 2))
    assert channel.delta_at(1.0) == 0
    rows = [channel.row(number) for number in range(4)]
    assert channel.delta_at(0.5) == max(largest_divergence(pair, power) for pair in pairwise(rows)) > 0


def test_the_control_answers_every_number_alike():
    control = counting(1.0, 6).blind()
    assert all(control.row(number) == control.row(0) for number in range(6))
    drawn = [control.respond(np.full(50, number), SeededBits(1)).tolist() for number in (0, 5)]
    assert drawn[0] == drawn[1]
    assert control.epsilon == 0 and control.holds and control.claim == Claim(0.0)


def test_a_senseless_number_of_numbers_or_weights_is_refused():
    for size in (1, 0, (1 << 20) + 1, 2.5):
        with pytest.raises(InputError, match="the number of numbers"):
            counting(1.0, size)
    with pytest.raises(InputError, match="sum to 2\\^62"):
        CountingChannel("short", np.array([5, 5]), Claim(1.0))
