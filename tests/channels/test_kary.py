"""k-ary randomized response."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Claim, KaryChannel, kary
from graphveil.channels.exact import hockey_stick
from graphveil.errors import InputError
from tests.channels.reference import GivenWords, precise_exp, precise_log
from tests.together import together

WORDS = 1 << 64
# Counts in steps of 2^52 can be drawn from all 1024 beginnings of a word.
STEPS = 1 << 10


@together("size", [2, 3, 7, 40, 1433])
@together("epsilon", [0.01, 1.0, 5.0])
def test_the_own_symbol_has_its_share(epsilon: float, size: int) -> None:
    power = math.exp(epsilon)
    assert kary(epsilon, size).row(1)[1] / TOTAL == pytest.approx(power / (power + size - 1), rel=1e-9)


@together("size", [2, 3, 7, 40, 1433])
@together("epsilon", [0.01, 1.0, 5.0])
def test_another_symbol_has_its_share(epsilon: float, size: int) -> None:
    assert kary(epsilon, size).row(1)[0] / TOTAL == pytest.approx(
        1 / (math.exp(epsilon) + size - 1), rel=1e-9
    )


@given(st.floats(0.01, 20.0), st.integers(2, 1 << 24))
def test_any_size_keeps_its_claim(epsilon: float, size: int) -> None:
    channel = kary(epsilon, size)
    own = channel.other + channel.surplus
    assert channel.other < own <= precise_exp(epsilon) * channel.other


@given(st.floats(0.01, 20.0), st.integers(2, 6000))
def test_sizes_of_up_to_6000_waste_little(epsilon: float, size: int) -> None:
    assert kary(epsilon, size).epsilon >= epsilon * (1 - 1e-9)


@given(st.floats(1e-8, 1e-2), st.integers(2, 200))
def test_small_budgets_keep_their_claim_and_waste_little(epsilon: float, size: int) -> None:
    assert epsilon * (1 - 1e-6) <= kary(epsilon, size).epsilon <= epsilon


def test_table_has_the_rows() -> None:
    channel = kary(1.0, 5)
    assert channel.table.tolist() == [channel.row(symbol) for symbol in range(5)]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.999, 1.5])
def test_delta_is_the_hockey_stick_divergence(epsilon: float) -> None:
    channel = kary(1.0, 5)
    assert abs(channel.delta_at(epsilon) - hockey_stick(channel.table, epsilon)[0]) < Fraction(1, 10**50)


def test_delta_is_the_excess_of_the_own_symbol() -> None:
    channel = kary(2.0, 7)
    own, other = channel.other + channel.surplus, channel.other
    assert abs(channel.delta_at(1.0) - (own - precise_exp(1) * other) / TOTAL) < Fraction(1, 10**50)


def test_delta_with_a_sufficient_epsilon_is_zero() -> None:
    assert kary(1.0, 7).delta_at(1.0) == 0


def test_epsilon_is_the_logarithm_of_own_over_other() -> None:
    channel = kary(1.0, 7)
    exact = precise_log(Fraction(channel.other + channel.surplus, channel.other))
    assert Fraction(math.nextafter(channel.epsilon, 0.0)) < exact <= Fraction(channel.epsilon)


# Drawing.


@pytest.mark.parametrize(("epsilon", "size"), [(1.0, 5), (0.01, 300), (8.0, 2)])
def test_words_below_the_surplus_draw_the_own_symbol(epsilon: float, size: int) -> None:
    channel = kary(epsilon, size)
    words = [0, 4 * channel.surplus - 1]
    assert channel.respond(np.array([1, 1]), GivenWords(words)).tolist() == [1, 1]


@pytest.mark.parametrize(("epsilon", "size"), [(1.0, 5), (0.01, 300), (8.0, 2)])
def test_the_rest_of_the_words_is_cut_into_equal_parts(epsilon: float, size: int) -> None:
    channel = kary(epsilon, size)
    starts = [4 * (channel.surplus + place * channel.other) for place in range(channel.size)]
    words = [word for start in starts for word in (start, start + 4 * channel.other - 1)]
    expected = [place for place in range(channel.size) for _ in range(2)]
    assert channel.respond(np.ones(len(words), dtype=int), GivenWords(words)).tolist() == expected


def test_the_last_word_draws_the_last_symbol() -> None:
    assert kary(1.0, 5).respond(np.array([2]), GivenWords([WORDS - 1])).tolist() == [4]


@pytest.mark.parametrize(("size", "parts"), [(2, 300), (5, 200), (7, 100), (3, 341)])
def test_all_words_together_draw_exactly_the_counts(size: int, parts: int) -> None:
    channel = KaryChannel("test", size, parts << 52, Claim(20.0))
    random_bits = GivenWords([step << 54 for step in range(STEPS)])
    drawn = np.bincount(channel.respond(np.ones(STEPS, dtype=int), random_bits), minlength=size)
    assert (drawn << 52).tolist() == channel.row(1)


def test_a_blind_channel_gives_its_surplus_to_symbol_0() -> None:
    blind = kary(1.0, 7).blind()
    assert blind.surplus > 0
    assert blind.respond(np.array([3]), GivenWords([4 * blind.surplus - 1])).tolist() == [0]


def test_a_blind_row_is_what_it_draws() -> None:
    blind = KaryChannel("test", 3, 341 << 52, Claim(0.0), truthful=False)
    random_bits = GivenWords([step << 54 for step in range(STEPS)])
    drawn = np.bincount(blind.respond(np.full(STEPS, 2), random_bits), minlength=3)
    assert (drawn << 52).tolist() == blind.row(2)


@pytest.mark.parametrize(("size", "kind"), [(256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_codes_have_the_smallest_type(size: int, kind: str) -> None:
    channel = kary(1.0, size)
    codes = channel.respond(np.array([size - 1]), GivenWords([0]))
    assert (codes.tolist(), codes.dtype) == ([size - 1], np.dtype(kind))


# Bad input.


@together("size", [0, 1, -2, (1 << 24) + 1, 2.0, True, "3", None, [3]])
def test_refuses_a_size(size: object) -> None:
    with pytest.raises(InputError, match="number of symbols must be an integer from 2 to 16777216"):
        kary(1.0, size)


@pytest.mark.parametrize(("epsilon", "size"), [(1e-8, 1 << 20), (1e-5, 1 << 24)])
def test_refuses_an_epsilon_that_the_counts_cannot_resolve(epsilon: float, size: int) -> None:
    with pytest.raises(InputError, match=f"epsilon must be larger than about .* for {size} symbols"):
        kary(epsilon, size)


@pytest.mark.parametrize(("size", "other"), [(3, TOTAL // 2), (2, 0), (0, 1), (2, TOTAL)])
def test_refuses_counts_that_do_not_make_up_the_total(size: int, other: int) -> None:
    with pytest.raises(InputError, match=r"do not make up 2\^62"):
        KaryChannel("test", size, other, Claim(1.0))
