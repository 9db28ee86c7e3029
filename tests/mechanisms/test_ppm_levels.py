"""Randomized levels: what the server makes of them."""

import numpy as np
import pytest

from graphveil.channels import esw
from graphveil.mechanisms.ppm_answers import RandomizedLevels

LEVELS = 3


@pytest.fixture
def levels():
    return RandomizedLevels(esw(0.5, LEVELS), LEVELS)


def test_rows_are_those_of_the_channel(levels):
    assert levels.rows == [levels.channel.row(level) for level in range(LEVELS)]


def test_each_level_is_randomized_to_something(levels):
    assert levels.transition.sum(axis=1) == pytest.approx(np.ones(LEVELS), rel=1e-12)


def test_what_lies_beyond_the_levels_counts_as_the_nearest(levels):
    outputs = levels.channel.outputs
    assert outputs.min() < 1 and outputs.max() > LEVELS
    assert levels.clamped.tolist() == [int(min(max(output, 1), LEVELS)) for output in outputs]


def test_clamping_gathers_what_lies_beyond_the_levels(levels):
    beyond = levels.channel.outputs <= 1
    assert levels.clamped_transition()[:, 0] == pytest.approx(levels.transition[:, beyond].sum(axis=1))


def test_posteriors_follow_bayes(levels):
    shares = np.array([0.5, 0.3, 0.2])
    joint = shares[:, None] * levels.transition
    assert levels.posterior(shares) == pytest.approx((joint / joint.sum(axis=0)).T)


def test_shares_are_found_in_exact_counts(levels):
    shares = np.array([0.5, 0.3, 0.2])
    counts = np.round(1e6 * shares @ levels.transition).astype(int)
    codes = np.repeat(np.arange(len(counts)), counts)
    assert levels.shares(codes) == pytest.approx(shares, abs=1e-3)
