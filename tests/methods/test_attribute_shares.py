"""Shares of a budget: what γ means, who is kept, what can be served, and how few different ones there are."""

import numpy as np
import pytest

from graphveil.channels.exact import MAX_EPSILON, MIN_EPSILON
from graphveil.mechanisms import mechanism
from graphveil.methods.heterorr import (
    LEVELS,
    attribute_shares,
    largest_shares,
    rounded_shares,
    served_shares,
)

SKEWED = np.random.default_rng(0).pareto(1.0, 1433)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_gamma_is_the_part_that_follows_importance(gamma):
    importance, sensitivity = np.array([8.0, 0.0, 0.0]), np.array([10.0, 10.0, 30.0])
    expected = gamma * np.array([1.0, 0.0, 0.0]) + (1 - gamma) * np.array([30.0, 30.0, 10.0]) / 70
    np.testing.assert_allclose(attribute_shares(importance, sensitivity, gamma), expected, rtol=1e-12)


def test_units_of_importance_and_sensitivity_do_not_matter():
    importance, sensitivity = np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 5.0])
    one = attribute_shares(importance, sensitivity, 0.4)
    np.testing.assert_allclose(
        attribute_shares(importance * 1e300, sensitivity * 1e-200, 0.4), one, rtol=1e-12
    )


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_where_all_numbers_are_0_they_say_nothing(gamma):
    zeros, ones = np.zeros(4), np.ones(4)
    for importance, sensitivity in ((zeros, ones), (ones, zeros), (zeros, zeros)):
        np.testing.assert_allclose(attribute_shares(importance, sensitivity, gamma), 0.25, rtol=1e-12)


def test_the_largest_shares_have_all_of_the_budget():
    kept = largest_shares(np.array([0.1, 0.4, 0.2, 0.3]), 2)
    np.testing.assert_allclose(kept, [0, 4 / 7, 0, 3 / 7], rtol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_attributes_that_nothing_tells_apart_are_kept_together(count):
    np.testing.assert_allclose(largest_shares(np.full(5, 0.2), count), 0.2, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 10, 1433])
def test_rounded_shares_are_few_and_lose_nothing(count):
    shares = largest_shares(SKEWED / SKEWED.sum(), count)
    rounded = rounded_shares(shares)
    assert len(set(rounded[rounded > 0].tolist())) <= LEVELS
    assert rounded.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(rounded > 0, shares > 0)


def test_rounded_shares_keep_the_order():
    shares = np.sort(SKEWED / SKEWED.sum())
    assert (np.diff(rounded_shares(shares)) >= 0).all()


def test_rounded_shares_are_near_the_given_ones():
    shares = SKEWED / SKEWED.sum()
    step = (shares.max() / shares.min()) ** (1 / LEVELS)
    ratios = rounded_shares(shares) / shares
    assert ratios.max() <= step * (1 + 1e-9) and ratios.min() >= (1 - 1e-9) / step


@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 19.0, 21.0, 200.0, 12 * MAX_EPSILON * (1 - 1e-9)])
def test_every_share_can_be_served(epsilon):
    skewed = np.array([1.0, 1e-3, *np.geomspace(1e-2, 1e-12, 9), 0.0])
    shares = served_shares(skewed / skewed.sum(), epsilon)
    budgets = shares[shares > 0] * epsilon
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    assert budgets.min() >= MIN_EPSILON and budgets.max() <= MAX_EPSILON
    mechanism("featurerr", epsilon=epsilon, dims=12, range=(0, 1), shares=rounded_shares(shares).tolist())


def test_shares_that_can_be_served_stay():
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    np.testing.assert_array_equal(served_shares(shares, 10.0), shares)
