"""Several rounds as one input: every answer by its precision, columns in one unit, rows of a known length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from graphveil.channels.sampling import SeededBits
from graphveil.learn.inputs import precisions, report_input, rounds_input
from graphveil.mechanisms import mechanism
from tests.learn.graphs import dense
from tests.together import each as check_each

D = 12


def built(name="multibit", epsilon=3.0, **options):
    return mechanism(name, epsilon=epsilon, **{"dims": D, "range": (0, 1), "sampled": 2, **options})


def rows_of(users=200, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (users, D)).astype(float)


def asked(mechanisms, rows):
    return [each.randomize(rows, SeededBits(7, number)) for number, each in enumerate(mechanisms)]


POOLED = {"pool": [1, 4, 5], "from_pool": 1.4}
PAIRS = {
    "both even": [built(), built()],
    "a pool in round 2": [built(), built(**POOLED)],
    "other numbers": [built(epsilon=1.5, sampled=1), built(epsilon=4.5, sampled=3, **POOLED)],
    "printed": [built(), built(pool=[3, 7])],
    "piecewise": [built("piecewise", 2.0), built("piecewise", 4.0, **POOLED)],
    "one round": [built(**POOLED)],
}


@pytest.mark.parametrize("case", PAIRS)
def test_it_is_the_weighted_sum_of_all_estimates(case):
    mechanisms = PAIRS[case]
    reports = asked(mechanisms, rows_of())
    precise = np.array([each.asking.inclusion / each.answer_square for each in mechanisms])
    sums = precise.sum(axis=0)
    weights = {
        "precision": precise,
        "unbiased": np.divide(precise, sums, out=np.zeros_like(precise), where=sums > 0),
    }

    def check(columns):
        plain = sum(
            weight * (each.estimate().dense() - 0.5)
            for each, weight in zip(reports, weights[columns], strict=True)
        )
        found = dense(rounds_input(reports, 0.25, columns))
        scale = np.linalg.norm(found) / np.linalg.norm(plain)
        np.testing.assert_allclose(found, scale * plain, rtol=1e-5, atol=1e-5 * np.abs(found).max())

    check_each(weights, check)


@pytest.mark.parametrize("case", PAIRS)
def test_precisions_are_the_inverse_of_the_variance_of_an_estimate(case):
    """By the exact second moment of each round's estimates, whatever number of values and which it asks for."""
    mechanisms = PAIRS[case]
    for each, found in zip(mechanisms, precisions(mechanisms), strict=True):
        channel, asking = each.channels[0], each.asking
        square = np.mean(
            [
                channel.moments(float(value))[0] ** 2 + channel.moments(float(value))[1]
                for value in channel.inputs
            ]
        )
        factors = each.public.half_width * each.scale * asking.factors
        exact = asking.inclusion * factors**2 * square
        np.testing.assert_allclose(found[exact > 0], 1 / exact[exact > 0], rtol=1e-9)
        assert (found[exact == 0] == 0).all()


def test_an_answer_counts_by_the_noise_of_its_round_and_not_by_how_rarely_it_was_asked_for():
    found = dense(rounds_input(asked([built(**POOLED)], rows_of()), 0.25))
    sizes = np.abs(found[found != 0])
    np.testing.assert_allclose(sizes, sizes[0], rtol=1e-5)
    first, second = precisions([built(epsilon=1.0), built(epsilon=5.0)])
    assert (second > 2 * first).all()
    only = built(pool=[3, 7])
    for columns in ("precision", "unbiased"):
        found = dense(rounds_input(asked([only], rows_of()), 0.25, columns))
        assert (np.delete(found, [3, 7], axis=1) == 0).all() and (found[:, [3, 7]] != 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("case", ["a pool in round 2", "other numbers", "piecewise"])
def test_unbiased_columns_have_the_rows_as_their_mean(case):
    """20,000 users with the same row: all columns are off by one common factor. z-tests at 1e-6 in all, seed fixed."""
    row, users = np.where(np.arange(D) % 3 == 0, 1.0, 0.0), 20_000
    reports = asked(PAIRS[case], np.tile(row, (users, 1)))
    found = dense(rounds_input(reports, 0.25, "unbiased"))
    mean, error = found.mean(axis=0), found.std(axis=0) / math.sqrt(users)
    unit = row - 0.5
    weight = 1 / error**2
    factor = (weight * unit * mean).sum() / (weight * unit**2).sum()
    assert factor > 0
    assert np.abs((mean - factor * unit) / error).max() < norm.isf(1e-6 / 24)


@pytest.mark.statistical
@pytest.mark.parametrize("case", PAIRS)
def test_rows_have_the_norm_that_is_asked_for(case):
    """20,000 random rows; six standard errors, seed fixed. What two rounds say about the same value adds up."""
    rows = rows_of(20_000, seed=3)
    if case == "piecewise":
        # Its constants take all inputs of the channel as equally likely.
        inputs = PAIRS[case][0].channels[0].inputs
        rows = (np.random.default_rng(3).choice(inputs, rows.shape) + 1) / 2
    reports, precise = asked(PAIRS[case], rows), np.array(precisions(PAIRS[case]))
    weights_of = {"precision": precise, "unbiased": precise / np.maximum(precise.sum(axis=0), 1e-300)}

    def check(columns):
        squares = (dense(rounds_input(reports, 0.25, columns)) ** 2).sum(axis=1)
        weights = weights_of[columns]
        apart = sum(
            weight**2 * each.asking.factors * each.scale * each.answer_square
            for weight, each in zip(weights, PAIRS[case], strict=True)
        ).sum()
        together = (weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0)).sum() * ((rows - 0.5) ** 2).mean()
        expected = 0.25**2 * D * (1 + together / apart)
        assert abs(squares.mean() - expected) < 6 * squares.std() / math.sqrt(len(squares)) + 1e-5 * expected

    check_each(weights_of, check)


def test_one_round_that_asks_evenly_is_the_usual_input():
    for each in (built(), built("piecewise"), built("square-wave")):
        reports = asked([each], rows_of())
        usual = dense(report_input(reports[0], 0.125))
        for columns in ("precision", "unbiased"):
            np.testing.assert_allclose(
                dense(rounds_input(reports, 0.125, columns)), usual, rtol=1e-5, atol=1e-7
            )


@pytest.mark.parametrize("columns", ["precision", "unbiased"])
def test_levels_in_two_rounds(columns):
    options = {"dims": D, "range": (0, 1), "levels": 3}
    mechanisms = [
        mechanism("ppm", epsilon=1.0, **options),
        mechanism("ppm", epsilon=1.0, **options, pool=[1, 2], from_pool=1),
    ]
    rows = rows_of(8000)
    levels = np.random.default_rng(1).integers(1, 4, len(rows))
    held = np.concatenate([rows, levels[:, None]], axis=1)
    found = dense(rounds_input(asked(mechanisms, held), 0.25, columns))
    # Shares of levels are estimated, so the norm is near what was asked for and not exact.
    assert (found**2).sum(axis=1).mean() == pytest.approx(0.25**2 * D, rel=0.1)
    centred = rows - 0.5
    gains = (found * centred).sum(axis=0) / (centred**2).sum(axis=0)
    assert (gains > 0).all()


def test_squares_of_levels_are_those_of_an_answer():
    """One level's worth of budget in ppm costs what one bit does: v/π is the second moment of an entry."""
    found = mechanism("ppm", epsilon=2.0, dims=D, range=(0, 1), levels=3)
    rows = np.random.default_rng(0).integers(0, 2, (40_000, D)).astype(float)
    levels = np.random.default_rng(1).integers(1, 4, len(rows))
    drawn = found.randomize(np.concatenate([rows, levels[:, None]], axis=1), SeededBits(2))
    square = ((drawn.estimate().dense() - 0.5) ** 2).mean()
    assert found.answer_square / (found.asking.count / D) == pytest.approx(square, rel=0.05)
