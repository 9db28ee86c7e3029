"""Numbers as they are printed: each form in one place."""

import math

from graphveil.experiments.result import PartScores
from graphveil.number_format import (
    MEGABYTES,
    NUMBER,
    PERCENT,
    SECONDS,
    budget,
    counted,
    exact_text,
    file_size,
    gained,
    low_to_high,
    percent,
    points,
    reach,
    rounded,
    rounded_or_whole,
    value_text,
)
from graphveil.statistics import Summary

WHOLE = Summary(0.5, 0.45, 0.56)
SINGLE = Summary(0.5, None, None)

INTERVALS = [
    (PERCENT, WHOLE, "50.0 [45.0, 56.0]"),
    (PERCENT, SINGLE, "50.0"),
    (PERCENT, None, "-"),
    (NUMBER, Summary(0.12345, 0.1, 0.15), "0.123 [0.1, 0.15]"),
    (SECONDS, Summary(2.0, 1.0, 3.0), "2.0 [1.0, 3.0] s"),
    (MEGABYTES, Summary(812.4, None, None), "812 MB"),
]


def test_an_interval_has_the_form_of_its_unit():
    assert [unit.interval(summary) for unit, summary, _ in INTERVALS] == [text for *_, text in INTERVALS]


def test_a_printed_number_stands_before_its_spread():
    given = [(81.25, 0.5), (81.25, None), (None, 0.5)]
    assert [PERCENT.with_spread(*each) for each in given] == ["81.2 ± 0.5", "81.2", "-"]


def test_points_are_hundredths_with_a_sign_where_it_is_asked_for():
    assert [points(score) for score in (0.8126, -0.012, 0.0, None)] == ["81.3", "-1.2", "0.0", "-"]
    assert [points(score, signed=True) for score in (0.012, -0.012, 0.0)] == ["+1.2", "-1.2", "+0.0"]


def test_an_interval_goes_from_low_to_high_or_has_a_reach():
    assert low_to_high(WHOLE) == "45.0 to 56.0"
    assert low_to_high(Summary(0.0, -0.01, 0.01), signed=True) == "-1.0 to +1.0"
    assert reach(WHOLE) == " ± 5.5"
    # One run has none.
    assert (low_to_high(SINGLE), reach(SINGLE)) == ("one run", "")


def test_a_gain_has_a_sign_and_a_reach():
    gains = [Summary(0.012, 0.002, 0.022), PartScores(mean=0.012, low=0.002, high=0.022)]
    gains += [Summary(-0.012, None, None), None]
    assert [gained(gain) for gain in gains] == ["+1.2 ± 1.0", "+1.2 ± 1.0", "-1.2", "-"]


def test_percentages_have_the_digits_that_are_asked_for():
    assert [percent(0.0375), percent(0.25, ".0f"), percent(-0.25, "+.1f")] == ["3.8%", "25%", "-25.0%"]


def test_numbers_are_rounded_to_digits():
    assert [rounded(12345.0), rounded(0.00012345, 2), rounded(None)] == ["1.23e+04", "0.00012", "-"]
    # A large number keeps its digits until it is too long.
    values = [0.012345, 999.4, 1000.0, 123456.7, 2e9]
    assert [rounded_or_whole(value) for value in values] == ["0.0123", "999", "1,000", "123,457", "2e+09"]


def test_budgets_things_and_sizes():
    assert [budget(epsilon) for epsilon in (4.0, 0.5, None)] == ["ε = 4", "ε = 0.5", "no ε"]
    assert [counted(number, "graph") for number in (0, 1, 1200)] == ["0 graphs", "1 graph", "1,200 graphs"]
    sizes = [999, 1000, 999_499, 1_000_000, 2_540_000]
    assert [file_size(size) for size in sizes] == ["999 bytes", "1 kB", "999 kB", "1.0 MB", "2.5 MB"]


def test_a_value_is_short_and_as_a_command_takes_it():
    values, texts = [4.0, 1e-4, True, None, "selu", 7], ["4", "0.0001", "true", "none", "selu", "7"]
    assert [value_text(value) for value in values] == texts
    assert [exact_text(value) for value in values] == texts
    # Nothing is rounded that a command takes.
    assert value_text(0.123456789) == "0.123457"
    exact = ["0.123456789", "3.141592653589793", "0.3333333333333333"]
    assert [exact_text(value) for value in (0.123456789, math.pi, 1 / 3)] == exact
    # Several values have something between them.
    assert value_text([1, 2.5, None]) == "1, 2.5, none"
    assert exact_text((1.0, 2.5)) == "1,2.5"
    assert exact_text((1.0, 2.5), "_") == "1_2.5"
