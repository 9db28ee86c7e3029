"""Checks of public numbers: what fits comes back plain, what does not is named, with what was expected and got."""

import math

import numpy as np
import pytest

from graphveil.checks import MAX_NUMBER, check_number, check_shares, check_whole, is_number, is_whole, short
from graphveil.errors import InputError
from tests.together import together

NO_NUMBERS = [None, True, np.True_, "1", [1], np.array([1.0]), 1j, {}]
INTEGERS = [3, np.int8(3), np.uint64(3)]


def refusal(check, *args, **bounds):
    with pytest.raises(InputError) as caught:
        check(*args, **bounds)
    return str(caught.value)


def test_a_long_list_is_cut():
    assert short(list(range(1000))) == "[0, 1, 2, 3, 4, 5, ...]"


def test_an_integer_that_python_would_not_write_out_is_counted_in_bits():
    assert short(1 << 100_000) == "an integer of 100001 bits"


@together("value", INTEGERS)
def test_integers_are_whole(value):
    assert is_whole(value)


@together("value", [*NO_NUMBERS, 1.0, np.float64(1)])
def test_anything_else_is_not_whole(value):
    assert not is_whole(value)


@together("value", [*INTEGERS, 0.5, np.float32(0.5), math.nan, math.inf])
def test_integers_and_floats_are_numbers(value):
    assert is_number(value)


@together("value", NO_NUMBERS)
def test_anything_else_is_no_number(value):
    assert not is_number(value)


@together("value", INTEGERS)
def test_a_whole_number_comes_back_as_a_plain_integer(value):
    assert type(check_whole(value, "hops")) is int


@together("value", [2, 5])
def test_the_bounds_of_whole_numbers_can_be_taken(value):
    assert check_whole(value, "hops", least=2, most=5) == value


@together(
    ("bounds", "expected"),
    [
        ({}, "an integer"),
        ({"least": 2}, "an integer of at least 2"),
        ({"most": 5}, "an integer of at most 5"),
        ({"least": 2, "most": 5}, "an integer from 2 to 5"),
        (
            {"least": 2, "most": 5, "why": "the number of classes"},
            "an integer from 2 to 5, the number of classes",
        ),
    ],
)
def test_a_refused_whole_number_is_named_with_what_was_expected_and_got(bounds, expected):
    assert refusal(check_whole, 1.5, "hops", **bounds) == f"hops must be {expected}, got 1.5"


@together("value", [1, 6, -(1 << 80), 1 << 80, np.uint64(MAX_NUMBER + 1), 2.0, *NO_NUMBERS])
def test_what_is_not_a_whole_number_within_the_bounds_is_refused(value):
    assert "hops must be an integer from 2 to 5, got " in refusal(check_whole, value, "hops", least=2, most=5)


@together("value", [*INTEGERS, 3.0, np.float32(3)])
def test_a_number_comes_back_as_a_plain_float(value):
    checked = check_number(value, "alpha")
    assert type(checked) is float and checked == 3.0


@together("value", [0.0, 1.0])
def test_least_and_most_can_be_taken(value):
    assert check_number(value, "share", least=0, most=1) == value


@together("value", [0.0, 1.0])
def test_above_and_below_cannot_be_taken(value):
    assert "strictly between 0 and 1" in refusal(check_number, value, "share", above=0, below=1)


@together(
    ("bounds", "expected"),
    [
        ({}, "a finite number"),
        ({"above": 0}, "a positive finite number"),
        ({"above": 2}, "a finite number above 2"),
        ({"least": 0}, "a finite number of at least 0"),
        ({"below": 2}, "a finite number below 2"),
        ({"most": 2}, "a finite number of at most 2"),
        ({"least": 0, "most": 1e100}, "a number from 0 to 1e+100"),
        ({"above": 0, "below": 1}, "a number strictly between 0 and 1"),
        ({"least": 0, "below": 1}, "a number in [0, 1)"),
        ({"above": 0, "most": 1}, "a number above 0 and up to 1"),
        ({"above": 0, "infinite": True}, "a positive number"),
        ({"above": 0, "infinite": True, "why": "in gigabytes"}, "a positive number, in gigabytes"),
    ],
)
def test_a_refused_number_is_named_with_what_was_expected_and_got(bounds, expected):
    assert refusal(check_number, "much", "alpha", **bounds) == f"alpha must be {expected}, got 'much'"


@together("value", [math.nan, math.inf, -math.inf, 1 << 2000, -(1 << 2000), *NO_NUMBERS])
def test_what_is_not_a_finite_number_is_refused(value):
    assert "alpha must be a finite number, got " in refusal(check_number, value, "alpha")


def test_no_limit_is_a_number_where_that_is_said():
    assert check_number(math.inf, "max_memory", above=0, infinite=True) == math.inf


@together("value", [math.nan, -math.inf, 0])
def test_where_there_may_be_no_limit_bounds_hold_all_the_same(value):
    assert "a positive number" in refusal(check_number, value, "max_memory", above=0, infinite=True)


def test_shares_are_divided_by_their_sum():
    assert check_shares((1, 0, 3), "shares", 3).tolist() == [0.25, 0.0, 0.75]


@together(
    "values",
    [
        pytest.param([1, 2], id="too few"),
        pytest.param([[1, 2, 3]], id="a table"),
        pytest.param([1, -1, 2], id="a negative one"),
        pytest.param([1, math.nan, 2], id="not a number"),
        pytest.param([1, math.inf, 2], id="infinite"),
        pytest.param([0, 0, 0], id="all 0"),
        pytest.param([1e308, 1e308, 1e308], id="an infinite sum"),
        pytest.param([1, 10**400, 1], id="too large"),
        pytest.param(["a", "b", "c"], id="words"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_cannot_be_shares_is_refused(values):
    expected = f"weights must be 3 numbers of at least 0 that are not all 0, one a level, got {short(values)}"
    assert refusal(check_shares, values, "weights", 3, why="one a level") == expected
