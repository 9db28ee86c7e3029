import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from graphveil.audit.lower_bound import at_least, at_most, clopper_pearson, clopper_pearsons, unlikely

CASES = [(0, 10), (3, 10), (10, 10), (1, 10**7), (123_456, 10**7), (5 * 10**6, 10**7), (10**7 - 1, 10**7)]


@pytest.mark.parametrize(("successes", "draws"), CASES)
@pytest.mark.parametrize("confidence", [0.95, 0.999, 1 - 1e-7])
def test_interval_agrees_with_scipy(successes, draws, confidence):
    tail = (1 - confidence) / 2
    expected_low = beta.ppf(tail, successes, draws - successes + 1) if successes else 0.0
    expected_high = beta.isf(tail, successes + 1, draws - successes) if successes < draws else 1.0
    low, high = clopper_pearson(successes, draws, confidence)
    assert low == pytest.approx(expected_low, rel=2e-6)
    assert high == pytest.approx(expected_high, rel=2e-6)


@given(st.integers(1, 10**6), st.floats(0.001, 0.999), st.floats(-4, 4))
def test_tails_agree_with_scipy(draws, probability, deviations):
    spread = np.sqrt(draws * probability * (1 - probability))
    count = int(np.clip(round(draws * probability + deviations * spread), 0, draws))
    upper = float(at_least([float(count)], draws, [probability])[0])
    lower = float(at_most([float(count)], draws, [probability])[0])
    assert upper == pytest.approx(binom.sf(count - 1, draws, probability), rel=1e-6, abs=1e-300)
    assert lower == pytest.approx(binom.cdf(count, draws, probability), rel=1e-6, abs=1e-300)


@given(st.integers(1, 1000), st.data())
def test_interval_holds_the_share_and_ends_where_the_tail_begins(draws, data):
    count = data.draw(st.integers(0, draws))
    low, high = clopper_pearson(count, draws, 0.99)
    assert low <= count / draws <= high
    assert count == 0 or at_least([float(count)], draws, [low])[0] <= 0.005
    assert count == draws or at_most([float(count)], draws, [high])[0] <= 0.005


def test_many_intervals_are_those_of_each():
    low, high = clopper_pearsons([0, 5, 50], 50, 0.999)
    each = [clopper_pearson(count, 50, 0.999) for count in (0, 5, 50)]
    assert np.allclose(low, [pair[0] for pair in each], rtol=1e-5)
    assert np.allclose(high, [pair[1] for pair in each], rtol=1e-5)


def test_a_probability_is_unlikely_where_it_lies_outside_the_interval():
    low, high = clopper_pearson(400, 1000, 0.99)
    inside, below, above = (low + high) / 2, low * 0.99, high * 1.01
    assert unlikely([400] * 3, 1000, [inside, below, above], 0.01).tolist() == [False, True, True]


def test_what_cannot_happen_is_unlikely_once_it_does():
    assert unlikely([1, 0], 1000, [0.0, 0.0], 1e-9).tolist() == [True, False]
    assert unlikely([999, 1000], 1000, [1.0, 1.0], 1e-9).tolist() == [True, False]
