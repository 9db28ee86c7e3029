import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp, ttest_rel

from graphveil.statistics import (
    Summary,
    at_least,
    bootstrap,
    exact_interval,
    paired_gain,
    t_interval,
    verdict,
)


def test_a_bootstrap_interval_holds_its_mean_and_is_the_same_every_time():
    values = [0.8, 0.82, 0.79, 0.81, 0.83]
    summary = bootstrap(values)
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.low < summary.mean < summary.high
    assert bootstrap(values) == summary


def test_equal_runs_have_an_interval_of_no_width():
    assert bootstrap([0.5, 0.5]) == Summary(0.5, 0.5, 0.5)


def test_one_run_has_no_interval():
    assert bootstrap([0.7]) == Summary(0.7, None, None)
    assert paired_gain([0.7], [0.6]).low is None


def test_the_gain_is_the_paired_t_interval():
    values, control = [0.8, 0.85, 0.83, 0.9], [0.7, 0.8, 0.81, 0.79]
    gain = paired_gain(values, control)
    interval = ttest_rel(values, control).confidence_interval(0.95)
    assert (gain.low, gain.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert gain.mean == pytest.approx(np.mean(values) - np.mean(control))


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Summary(0.1, 0.09, 0.11), "features at ε = 2 add 10.0 ± 1.0 points over the control"),
        (
            Summary(0.001, -0.005, 0.007),
            "features at ε = 2 add 0.1 ± 0.6 points over the control: nothing measurable",
        ),
        (Summary(-0.02, -0.03, -0.01), "features at ε = 2 cost 2.0 ± 1.0 points against the control"),
        (
            Summary(0.05, None, None),
            "features at ε = 2 add 5.0 points over the control in one run: no verdict from one run",
        ),
    ],
)
def test_the_verdict_says_what_was_bought(gain, words):
    assert verdict(gain, 2.0) == words


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (Summary(-0.004, -0.006, -0.002), "; 0.4 ± 0.2 below asking nobody"),
        (Summary(0.03, 0.02, 0.04), "; 3.0 ± 1.0 above asking nobody"),
        (Summary(0.01, -0.01, 0.03), "; 1.0 ± 2.0 above asking nobody, which is no difference"),
        (Summary(-0.01, None, None), "; 1.0 below asking nobody"),
    ],
)
def test_the_verdict_says_how_that_compares_with_asking_nobody(over, words):
    assert verdict(Summary(0.1, 0.09, 0.11), 2.0, over).endswith(f"over the control{words}")


def test_an_interval_is_the_t_interval_of_the_mean():
    values = [0.8, 0.82, 0.79, 0.81, 0.83]
    interval = ttest_1samp(values, 0.0).confidence_interval(0.95)
    summary = t_interval(values)
    assert (summary.low, summary.high) == (pytest.approx(interval.low), pytest.approx(interval.high))


@pytest.mark.statistical
def test_an_interval_over_five_runs_covers_the_mean_in_95_of_100_cases():
    """20,000 intervals: their share is off by 5.5 deviations in less than one of 10^7 runs (the bootstrap covers 83%)."""
    draws = np.random.default_rng(0).normal(size=(20_000, 5))
    inside = [found.low <= 0 <= found.high for found in map(t_interval, draws.tolist())]
    assert abs(np.mean(inside) - 0.95) < 5.5 * np.sqrt(0.95 * 0.05 / 20_000)


@pytest.mark.parametrize("right", [0, 1, 37, 100])
def test_an_interval_of_guesses_is_the_exact_one(right):
    expected = binomtest(right, 100).proportion_ci(0.95, "exact")
    found = exact_interval(right, 100)
    assert (found.mean, found.low, found.high) == pytest.approx((right / 100, expected.low, expected.high))


def test_so_many_guesses_or_more_are_counted_from_that_number_on():
    # Of two coins: 1, 3/4, 1/4.
    assert [at_least(right, 2, 0.5) for right in (0, 1, 2)] == pytest.approx([1.0, 0.75, 0.25])
