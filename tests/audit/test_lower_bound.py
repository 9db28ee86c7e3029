import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from graphveil.audit.lower_bound import (
    CodeContrast,
    best_bound,
    bound_step,
    check_contrast,
    log_tail,
    most_separated,
    opposite_inputs,
    place_sums,
    probability_intervals,
    unlikely,
)
from graphveil.audit.reports import Version
from graphveil.channels import TOTAL, Channel, Claim, SeededBits, onebit
from graphveil.mechanisms import FeatureMechanism, LevelMechanism, PublicRange, mechanism, names
from graphveil.suites import Check, run_checks


def _title(place):
    return f"event {place}"


def test_bound_is_below_the_ratio_and_close_to_it():
    counts = np.array([[7_310_000, 50], [2_690_000, 40]])
    bound = best_bound(counts, _title, (1, 0), 10_000_000, 0.0)
    assert bound.epsilon <= math.log(731 / 269)
    assert bound.epsilon == pytest.approx(math.log(731 / 269), abs=0.01)
    assert bound.event == "event 0"
    assert bound.inputs == (1, 0)


def test_bound_sees_an_event_that_fails_to_come():
    bound = best_bound(np.array([[9_000], [10_000]]), _title, ("a", "b"), 10_000, 0.0)
    assert bound.event == "anything but event 0"
    assert bound.epsilon > 4


def test_delta_is_taken_off():
    counts = np.array([[1_000], [0]])
    free = best_bound(counts, _title, (0, 1), 100_000, 0.0)
    granted = best_bound(counts, _title, (0, 1), 100_000, 0.02)
    assert granted.epsilon == 0.0 < free.epsilon


def test_bound_with_nothing_to_see_is_zero():
    assert best_bound(np.array([[500], [500]]), _title, (0, 1), 1_000, 0.0).epsilon == 0.0


def test_most_separated_inputs_differ_most_often():
    rows = [np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.0, 1.0])]
    assert most_separated(rows, [(0, 1), (0, 2), (1, 2)]) == (1, 2)
    assert most_separated(rows, [(0, 1), (0, 2)]) == (0, 2)


@pytest.mark.statistical  # a false alarm in a million each; the seed is fixed
@pytest.mark.parametrize("name", names("features"))
def test_no_mechanism_tells_more_than_it_claims(name):
    settings = {"length": 3} if name == "item" else {}
    built = mechanism(name, epsilon=2.0, dims=6, range=(0, 1), **settings)
    assert bound_step(Version(built, random_bits=SeededBits(4)), 20_000).leaks == ()


def test_a_mechanism_that_tells_more_is_found():
    class Lying(FeatureMechanism):
        def randomize(self, private, random_bits=None):
            loud = replace(self, channels=(onebit(3.0),))
            return replace(FeatureMechanism.randomize(loud, private, random_bits), mechanism=self)

    def build():
        return Lying("lying", Claim(1.0), PublicRange(0, 1), 6, 1, (onebit(1.0),), 6.0)

    (leak,) = bound_step(Version(build(), random_bits=SeededBits(4)), 50_000).leaks
    assert "reports tell more than claimed" in leak
    assert "claimed 1" in leak


def test_what_the_tables_admit_is_not_told_again():
    def build():
        return FeatureMechanism("open", Claim(1.0), PublicRange(0, 1), 6, 1, (onebit(3.0),), 6.0)

    assert bound_step(Version(build(), random_bits=SeededBits(4)), 50_000).leaks == ()


@pytest.mark.parametrize("name", ["multibit", "onebit", "item", "link-rr"])
def test_sums_of_codes_are_those_of_each_report(name):
    settings = {"length": 3} if name == "item" else {}
    settings |= {} if name == "link-rr" else {"range": (0, 1)}
    built = mechanism(name, epsilon=2.0, dims=6, **settings)
    reports = built.randomize(np.eye(6), SeededBits(1))
    sums, seen = place_sums(reports)
    for place, found in enumerate(zip(sums, seen, strict=True)):
        each = [reports.row(user) for user in range(6)]
        if name == "link-rr":
            assert found == (sum(place in one.codes for one in each), 6)
            continue
        named = [one.dims if one.dims is not None else np.arange(len(one.codes)) for one in each]
        codes = [
            code for one, dims in zip(each, named, strict=True) for code in one.codes[dims == place].tolist()
        ]
        assert found == (sum(codes), len(codes))


@pytest.mark.statistical  # a false alarm in a million; the seed is fixed
def test_codes_that_are_too_many_to_count_leave_the_direction():
    built = mechanism("privunit", epsilon=2.0, dims=300, range=(0, 1))
    step = bound_step(Version(built, random_bits=SeededBits(4)), 20_000)
    assert step.leaks == ()
    assert "epsilon is at least 1." in step.seen


@pytest.mark.statistical  # a false alarm in 10^10; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "laplace", "multibit", "privunit"])
def test_whole_reports_of_a_right_mechanism_tell_no_more_than_claimed(name):
    built = mechanism(name, epsilon=1.0, dims=300, range=(0, 1))
    check_contrast(Version(built, getattr(built, "public", None), SeededBits(1)))


def test_halves_of_a_row_lie_at_opposite_ends():
    built = mechanism("onebit", epsilon=1.0, dims=10, range=(-1, 3))
    (low, high), (one, other) = opposite_inputs(Version(built, built.public, SeededBits(1)))
    assert set(low) == {-1.0} and set(high) == {3.0}
    assert (one + other == 2.0).all() and (one == 3.0).sum() == 5


def test_a_bound_comes_near_to_what_a_report_tells():
    built = mechanism("onebit", epsilon=3.0, dims=1, range=(0, 1))
    version = Version(built, random_bits=SeededBits(1))
    pilots = [version.draw(private, 1000) for private in ([0.0], [1.0])]
    contrast = CodeContrast.of(([0.0], [1.0]), [place_sums(each) for each in pilots], pilots)
    assert 2.7 < contrast.bound(version, 100_000).epsilon < 3.0


def test_a_single_level_has_nothing_to_tell_it_from():
    channel = Channel("single", [[TOTAL]], [1.0], [1.0], Claim(1.0))
    single = LevelMechanism("single", Claim(1.0), channel, "level", first=1, unbiased=False)
    assert opposite_inputs(Version(single, random_bits=SeededBits(1))) == []


CASES = [(0, 10), (3, 10), (10, 10), (1, 10**7), (123_456, 10**7), (5 * 10**6, 10**7), (10**7 - 1, 10**7)]


def test_an_interval_holds_the_exact_one_and_is_hardly_longer():
    tails = (0.025, 0.0005, 5e-8)
    run_checks(
        "intervals",
        [
            Check(f"{successes} of {draws} at {tail:g}", partial(check_interval, successes, draws, tail))
            for (successes, draws), tail in product(CASES, tails)
        ],
    )


def check_interval(successes, draws, tail):
    exact_low = beta.ppf(tail, successes, draws - successes + 1) if successes else 0.0
    exact_high = beta.isf(tail, successes + 1, draws - successes) if successes < draws else 1.0
    (low,), (high,) = probability_intervals([successes], draws, math.log(tail))
    assert low <= exact_low * (1 + 1e-6) and exact_high * (1 - 1e-6) <= high
    share = successes / draws
    assert share - low <= 1.6 * (share - exact_low) + 1e-9
    assert high - share <= 1.6 * (exact_high - share) + 1e-9


@given(st.integers(1, 10**6), st.floats(0.001, 0.999), st.floats(-4, 4))
def test_tails_are_never_below_those_of_scipy(draws, probability, deviations):
    spread = np.sqrt(draws * probability * (1 - probability))
    count = int(np.clip(round(draws * probability + deviations * spread), 0, draws))
    exact = binom.logsf(count - 1, draws, probability)
    if count < draws * probability:
        exact = binom.logcdf(count, draws, probability)
    assert float(log_tail(count, draws, probability)) >= exact - 1e-6


@given(st.integers(1, 1000), st.data())
def test_interval_holds_the_share_and_ends_where_the_tail_begins(draws, data):
    count = data.draw(st.integers(0, draws))
    (low,), (high,) = probability_intervals([count], draws, math.log(0.005))
    assert low <= count / draws <= high
    for end in (low, high):
        assert end in (0.0, 1.0) or float(log_tail(count, draws, end)) == pytest.approx(
            math.log(0.005), abs=1e-3
        )


def test_a_probability_is_unlikely_where_it_lies_outside_the_interval():
    (low,), (high,) = probability_intervals([400], 1000, math.log(0.005))
    inside, below, above = (low + high) / 2, low * 0.99, high * 1.01
    assert unlikely([400] * 3, 1000, [inside, below, above], 0.01).tolist() == [False, True, True]


def test_what_cannot_happen_is_unlikely_once_it_does():
    assert unlikely([1, 0], 1000, [0.0, 0.0], 1e-9).tolist() == [True, False]
    assert unlikely([999, 1000], 1000, [1.0, 1.0], 1e-9).tolist() == [True, False]
