"""k-ary randomized response."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Claim, KaryChannel, kary
from graphveil.channels.exact import hockey_stick
from graphveil.errors import InputError
from tests.channels.reference import GivenWords, precise_exp
from tests.together import together

WORDS = 1 << 64
# Counts in steps of 2^52 can be drawn from all 1024 beginnings of a word.
STEPS = 1 << 10


@together("size", [2, 3, 7, 40, 1433])
@together("epsilon", [0.01, 1.0, 5.0])
def test_the_own_symbol_and_another_have_their_shares(epsilon, size):
    power = math.exp(epsilon)
    other, own = kary(epsilon, size).row(1)[:2]
    assert own / TOTAL == pytest.approx(power / (power + size - 1), rel=1e-9)
    assert other / TOTAL == pytest.approx(1 / (power + size - 1), rel=1e-9)


@given(st.floats(0.01, 20.0), st.integers(2, 1 << 24))
def test_any_size_keeps_its_claim(epsilon, size):
    channel = kary(epsilon, size)
    own = channel.other + channel.surplus
    assert channel.other < own <= precise_exp(epsilon) * channel.other


@given(st.floats(0.01, 20.0), st.integers(2, 6000))
def test_sizes_of_up_to_6000_waste_little(epsilon, size):
    assert kary(epsilon, size).epsilon >= epsilon * (1 - 1e-9)


@given(st.floats(1e-8, 1e-2), st.integers(2, 200))
def test_small_budgets_keep_their_claim_and_waste_little(epsilon, size):
    assert epsilon * (1 - 1e-6) <= kary(epsilon, size).epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.999, 1.0, 1.5])
def test_delta_is_the_hockey_stick_divergence_of_its_rows(epsilon):
    channel = kary(1.0, 5)
    assert channel.table.tolist() == [channel.row(symbol) for symbol in range(5)]
    delta = channel.delta_at(epsilon)
    assert abs(delta - hockey_stick(channel.table, epsilon)[0]) < Fraction(1, 10**50)
    # The excess of the own symbol.
    own = channel.other + channel.surplus
    excess = (own - precise_exp(epsilon) * channel.other) / TOTAL
    assert abs(delta - max(excess, 0)) < Fraction(1, 10**50)
    assert (delta == 0) == (epsilon >= 1)


@pytest.mark.parametrize(("epsilon", "size"), [(1.0, 5), (0.01, 300), (8.0, 2)])
def test_words_below_the_surplus_draw_the_own_symbol_and_the_rest_is_cut_into_equal_parts(epsilon, size):
    channel = kary(epsilon, size)
    starts = [4 * (channel.surplus + place * channel.other) for place in range(size)]
    words = [word for start in starts for word in (start, start + 4 * channel.other - 1)]
    words += [0, 4 * channel.surplus - 1, WORDS - 1]
    expected = [place for place in range(size) for _ in range(2)] + [1, 1, size - 1]
    assert channel.respond(np.ones(len(words), dtype=int), GivenWords(words)).tolist() == expected


@together(
    ("size", "parts", "truthful"),
    [(2, 300, True), (5, 200, True), (7, 100, True), (3, 341, True), (3, 341, False)],
)
def test_all_words_together_draw_exactly_the_counts(size, parts, truthful):
    channel = KaryChannel("test", size, parts << 52, Claim(20.0), truthful=truthful)
    random_bits = GivenWords([step << 54 for step in range(STEPS)])
    drawn = np.bincount(channel.respond(np.ones(STEPS, dtype=int), random_bits), minlength=size)
    assert (drawn << 52).tolist() == channel.row(1)


@together(
    ("build", "words"),
    [
        *(
            (partial(kary, 1.0, size), "number of symbols must be an integer from 2 to 16777216")
            for size in (0, 1, -2, (1 << 24) + 1, 2.0, True, "3", None, [3])
        ),
        # What the counts cannot resolve.
        (partial(kary, 1e-8, 1 << 20), f"epsilon must be larger than about .* for {1 << 20} symbols"),
        (partial(kary, 1e-5, 1 << 24), f"epsilon must be larger than about .* for {1 << 24} symbols"),
        *(
            (partial(KaryChannel, "test", size, other, Claim(1.0)), r"do not make up 2\^62")
            for size, other in ((3, TOTAL // 2), (2, 0), (0, 1), (2, TOTAL))
        ),
    ],
)
def test_refuses_a_size_or_counts(build, words):
    with pytest.raises(InputError, match=words):
        build()
