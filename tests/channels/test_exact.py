"""Exact arithmetic: losses, worst ratios, divergences."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Claim, Loss, kary
from graphveil.channels.exact import (
    MARGIN,
    MAX_TIED,
    check_delta,
    check_epsilon,
    exp_below,
    hockey_stick,
    loss_at_delta,
    ratio_at_delta,
    target,
    worst_ratio,
)
from graphveil.errors import InputError
from tests.channels.reference import (
    divergence,
    is_rounded_up,
    largest_divergence,
    largest_ratio,
    precise_exp,
    precise_log,
    rows_of,
    tables,
    whole_row,
)
from tests.together import together

ratios = st.builds(
    lambda bottom, more: Fraction(bottom + more, bottom), st.integers(1, TOTAL), st.integers(1, TOTAL)
)
# Divergences that the code decides with a relative error of 10^-57 in e^ε.
DIGITS = Fraction(1, 10**55)


# Losses.


@given(ratios)
@example(Fraction(TOTAL + 1, TOTAL))
@example(Fraction(TOTAL, 1))
def test_bounds_enclose_the_logarithm_and_are_tight_to_40_digits(ratio):
    for low, high in (Loss.of(ratio).bounds(), Loss.of(ratio).bounds(50)):
        assert low < precise_log(ratio) < high
    assert high - low < Fraction(1, 10**40)


@given(ratios)
@example(Fraction(TOTAL + 1, TOTAL))
@example(Fraction(TOTAL, 1))
def test_epsilon_is_the_logarithm_rounded_up_and_not_exceeded(ratio):
    loss = Loss.of(ratio)
    assert is_rounded_up(loss.epsilon, precise_log(ratio))
    assert loss.exceeds(math.nextafter(loss.epsilon, 0.0)) and not loss.exceeds(loss.epsilon)


@pytest.mark.parametrize("digits", [30, 60, 120, 300])
def test_exceeds_decides_beyond_its_first_digits(digits: int) -> None:
    ratio = Fraction(3, 2)
    low, high = Loss.of(ratio).bounds(digits + 20)
    assert Loss.of(ratio).exceeds(low) and not Loss.of(ratio).exceeds(high)


def test_losses_add_up_and_there_may_be_none_or_an_infinite_one():
    two = Fraction(2)
    assert Loss.total([Loss.of(two), Loss.of(two, 3)]) == Loss.of(two, 4)
    assert Loss.total([Loss.of(two), Loss(None)]) == Loss(None)
    assert Loss.of(two, 3).times(5) == Loss.of(two, 15)
    low, high = Loss.total([Loss.of(Fraction(3), 2), Loss.of(Fraction(5, 4))]).bounds()
    assert low < 2 * precise_log(Fraction(3)) + precise_log(Fraction(5, 4)) < high
    assert Loss.of(Fraction(1)) == Loss(())
    for none in (Loss(()), Loss(()).times(0), Loss.of(Fraction(2)).times(0), Loss.of(Fraction(2), 0)):
        assert none.epsilon == 0.0
        assert not none.exceeds(0.0)
    assert Loss.of(None).epsilon == math.inf
    assert Loss.of(None).exceeds(1e300)
    with pytest.raises(InputError, match="infinite"):
        Loss(None).bounds()


# e^ε.


exponents = st.fractions(min_value=0, max_value=999, max_denominator=10**18)


@given(exponents)
@example(Fraction(0))
@example(Fraction(20))
def test_exp_below_is_below_and_tight(exponent):
    exact = precise_exp(exponent)
    assert exact * (1 - 2 * Fraction(1, 10**57)) < exp_below(exponent) < exact


def test_exp_below_gets_tighter_with_more_digits_and_a_target_is_a_small_margin_below():
    assert 1 - exp_below(Fraction(3), 100) / precise_exp(3) < Fraction(1, 10**96)
    assert target(0.1) == Fraction(0.1) * (1 - Fraction(1, 1 << 40))
    assert MARGIN < 1e-9 / 2


# The worst ratio of a table.


@given(tables(max_rows=5))
def test_worst_ratio_is_the_largest_of_all_columns_and_names_the_entries_that_have_it(table):
    worst = worst_ratio(table)
    high, low = int(table[worst.likelier, worst.output]), int(table[worst.rarer, worst.output])
    assert (Fraction(high, low) if low else None) == worst.ratio == largest_ratio(table.tolist())


def test_worst_ratio_by_hand():
    assert worst_ratio(np.array([[0, TOTAL], [1, TOTAL - 1]])).ratio is None
    fourth = TOTAL // 4
    table = np.array([[fourth, 0, TOTAL - fourth], [2 * fourth, 0, TOTAL - 2 * fourth]])
    assert worst_ratio(table).ratio == 2
    assert worst_ratio(np.array([[1, TOTAL - 1]])).ratio == 1
    # (2^60+1)/2^59 and (2^60+2)/2^59 are the same float.
    small, large = 1 << 59, 1 << 60
    rest = TOTAL - 2 * small
    table = np.array([[small, small, rest], [large + 1, large + 2, TOTAL - 2 * large - 3]])
    assert worst_ratio(table).ratio == max(Fraction(large + 2, small), Fraction(rest, TOTAL - 2 * large - 3))
    table = np.array([whole_row([1, 1, 6]), whole_row([2, 2, 4])])
    assert worst_ratio(table).output == 0


# δ at an ε.


@given(tables(), st.floats(0.0, 5.0))
def test_hockey_stick_is_brute_force_rounded_up_and_names_a_pair_that_has_it(table, epsilon):
    delta, (row, other) = hockey_stick(table, epsilon)
    power = precise_exp(epsilon)
    assert 0 <= delta - largest_divergence(table.tolist(), power) <= DIGITS * 200
    assert 0 <= delta - divergence(table[row].tolist(), table[other].tolist(), power) <= DIGITS * 200


def test_hockey_stick_by_hand_and_of_many_tied_pairs():
    table = np.array([[TOTAL // 4, TOTAL // 2, TOTAL // 4], [0, TOTAL - 1, 1]])
    assert hockey_stick(table, 1e4)[0] == Fraction(1, 4)
    # It sees a loss that floats do not.
    channel = kary(1.0, 20)
    assert len(channel.table) ** 2 - len(channel.table) > MAX_TIED
    for epsilon in (0.5, math.nextafter(channel.epsilon, 0.0)):
        exact = largest_divergence(channel.table[:2].tolist(), precise_exp(epsilon))
        assert 0 <= hockey_stick(channel.table, epsilon)[0] - exact <= Fraction(1, 10**13)


# ε at a δ.


deltas = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(99, 100), max_denominator=1000)
pairs = st.integers(1, 6).flatmap(lambda outputs: st.tuples(rows_of(outputs), rows_of(outputs)))


@given(pairs, deltas)
def test_ratio_at_delta_is_the_smallest_that_has_it(pair, delta):
    """It is 1 where δ covers all, and none exactly where impossible outputs outweigh δ."""
    ratio = ratio_at_delta(*pair, delta)
    impossible = sum(one for one, other in zip(*pair, strict=True) if other == 0)
    assert (ratio is None) == (impossible > delta * TOTAL)
    if ratio == 1:
        assert divergence(*pair, Fraction(1)) <= delta
    elif ratio is not None:
        assert divergence(*pair, ratio) == delta
        assert divergence(*pair, ratio * (1 - Fraction(1, 10**30))) > delta


@given(tables(), st.floats(1e-3, 0.99), st.floats(0.0, 5.0))
def test_loss_at_delta_is_the_largest_over_all_pairs(table: np.ndarray, delta: float, guess: float) -> None:
    rows = table.tolist()
    asked = [ratio_at_delta(row, other, Fraction(delta)) for row in rows for other in rows]
    known = [ratio for ratio in asked if ratio is not None]
    worst = max(known) if len(known) == len(asked) else None
    assert loss_at_delta(table, delta, guess) == Loss.of(worst)


def test_loss_at_delta_by_hand():
    # At e^3 only (row 0, row 1) diverges, by an output that row 1 never gives; at δ = 0.3 it is the other way round.
    row, other = whole_row([3, 1, 2, 8]), whole_row([0, 13, 3, 5])
    expected = ratio_at_delta(other, row, Fraction(0.3))
    assert loss_at_delta(np.array([row, other]), 0.3, 3.0) == Loss.of(expected)
    # At e^3 no pair diverges, so all 20·19 are tied there.
    weights = [[50 + step, 50 - step] for step in range(20)]
    table = np.array([whole_row(row) for row in weights])
    worst = ratio_at_delta(table[0].tolist(), table[-1].tolist(), Fraction(0.01))
    other = ratio_at_delta(table[-1].tolist(), table[0].tolist(), Fraction(0.01))
    assert loss_at_delta(table, 0.01, 3.0) == Loss.of(max(worst, other))
    table = kary(1.0, 20).table
    exact = ratio_at_delta(table[0].tolist(), table[1].tolist(), Fraction(0.01))
    ((ratio, _),) = loss_at_delta(table, 0.01, 1.0).terms
    assert exact <= ratio <= exact * (1 + Fraction(1, 1 << 30))
    assert loss_at_delta(np.array([whole_row([1, 2, 3])] * 20), 1e-6, 1.0) == Loss(())


NO_NUMBERS = [math.nan, math.inf, True, "0.1", None]


@together(
    ("check", "value", "words"),
    [
        *(
            (check_epsilon, value, "epsilon must be a positive")
            for value in [*NO_NUMBERS, 0, -1, 0.0, -1e-9, -math.inf, [1.0]]
        ),
        (check_epsilon, 9e-9, "between 1e-08 and 20.*fewer values"),
        (check_epsilon, 20.1, "between 1e-08 and 20.*spread it"),
        *(
            (check_delta, value, "delta must be a number strictly between 0 and 1")
            for value in [*NO_NUMBERS, 0, 1, -0.1, 1.5]
        ),
        *(
            (Claim, value, "epsilon must be a finite number of at least 0")
            for value in (-1.0, math.nan, math.inf, "1")
        ),
        *(
            (partial(Claim, 1.0), value, r"delta must be a number in \[0, 1\)")
            for value in (-0.1, 1.0, math.nan, "0")
        ),
    ],
)
def test_what_is_no_budget_is_refused(check, value, words):
    with pytest.raises(InputError, match=words):
        check(value)


def test_check_epsilon_gives_a_float():
    for epsilon in (1, 1e-8, 20, np.float32(0.5), np.int64(2)):
        assert type(check_epsilon(epsilon)) is float
