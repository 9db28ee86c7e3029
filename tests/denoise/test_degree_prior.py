"""The β-model by groups: the degrees it was fitted to, against one parameter a user and a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.denoise.links import DegreePrior, shrunk_degrees


def dense_chances(prior):
    beta = prior.beta[prior.group]
    chances = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    np.fill_diagonal(chances, 0)
    return chances


def test_users_have_their_degrees_in_expectation_and_log_odds_are_the_sum_of_both_users():
    degrees = np.repeat([1.0, 3.0, 8.0], [20, 20, 10])
    prior = DegreePrior.of(degrees)
    assert len(prior.beta) == 3
    assert dense_chances(prior).sum(axis=1) == pytest.approx(degrees, rel=1e-3)
    assert prior.expected_links == pytest.approx(degrees.sum() / 2, rel=1e-3)
    prior = DegreePrior.of(np.array([1.0, 1.0, 2.0, 2.0]))
    odds = prior.log_odds(np.array([[0, 2], [2, 3]]))
    chances = dense_chances(prior)
    assert 1 / (1 + np.exp(-odds)) == pytest.approx([chances[0, 2], chances[2, 3]])


@pytest.mark.parametrize("degrees", [np.zeros(5), np.full(5, 4.0), np.array([0.0, 100.0, 1.0])])
def test_degrees_at_the_ends_give_finite_odds(degrees):
    prior = DegreePrior.of(degrees)
    assert np.isfinite(prior.beta).all() and np.isfinite(prior.expected_links)


def test_noisy_degrees_go_towards_the_mean_by_how_much_is_noise():
    noisy = np.array([0.0, 4.0, 8.0])
    halfway = shrunk_degrees(noisy, noisy.var() / 2)
    assert halfway == pytest.approx([2.0, 4.0, 6.0])
    assert shrunk_degrees(noisy, 1e9) == pytest.approx([4.0, 4.0, 4.0])
    # No degree is negative, and nobody is sure to have none.
    assert shrunk_degrees(np.array([-5.0, 15.0]), 0.0).tolist() == [1.0, 15.0]
