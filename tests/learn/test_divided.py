"""Answers at different budgets as an input: the attributes that had a share, by precision, in rows of a known length."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.learn.inputs import answer_squares, divided_input, joined_input
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import mechanism
from tests.learn.graphs import dense

D, USERS = 10, 300
SHARES = [0.0, 0.4, 0.0, 0.3, 0.1, 0.1, 0.0, 0.1, 0.0, 0.0]
PLACES = np.flatnonzero(SHARES)
WHO = np.arange(USERS) % 3 != 0


def rows_of(seed=0):
    return np.random.default_rng(seed).integers(0, 2, (USERS, D)).astype(float)


def divided(debiased=True, shares=SHARES, seed=1):
    made = mechanism("featurerr", epsilon=6.0, dims=D, range=(0, 1), shares=shares, debiased=debiased, bins=3)
    return made.randomize(rows_of(), SeededBits(seed))


def sampled():
    made = mechanism("piecewise", epsilon=2.0, dims=D, range=(0, 1), sampled=2)
    return made.randomize(rows_of(), SeededBits(9))


@pytest.mark.parametrize("by_precision", [True, False])
def test_columns_are_those_that_had_a_share(by_precision):
    reports = divided()
    found = dense(divided_input(reports, PLACES, 0.5, by_precision=by_precision))
    squares = answer_squares(reports.mechanism)[PLACES]
    weights = 1 / squares if by_precision else np.ones(len(PLACES))
    plain = (reports.estimate().dense() - 0.5)[:, PLACES] * weights
    assert found.shape == (USERS, len(PLACES))
    np.testing.assert_allclose(found / found[0, 0], plain / plain[0, 0], rtol=1e-4, atol=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("debiased", [True, False])
def test_rows_have_the_norm_that_was_asked_for(debiased):
    """Over inputs that are all equally likely: each of three bins as often as the others.

    The square of a row's norm has a standard deviation below twice its mean, so that of the root of 60,000 rows' mean square is
    below 0.4%: five of them are a false alarm rate below 1e-6.
    """
    made = divided(debiased).mechanism
    rows = np.random.default_rng(3).integers(0, 3, (60_000, D)) / 2
    found = dense(divided_input(made.randomize(rows, SeededBits(4)), PLACES, 0.5, by_precision=debiased))
    assert np.sqrt((found**2).sum(axis=1).mean()) == pytest.approx(0.5 * np.sqrt(D), rel=0.02)


def test_both_rounds_are_added_by_their_precisions():
    first, second = sampled(), divided()
    asking = first.mechanism.asking
    square = first.mechanism.spread**2 * (asking.count / asking.size) ** 2
    plain = (first.estimate().dense() - 0.5) * (asking.count / asking.size) / square
    plain[:, PLACES] += (second.estimate().dense() - 0.5)[:, PLACES] / answer_squares(second.mechanism)[
        PLACES
    ]
    found = dense(joined_input(first, second, PLACES, 0.5))
    place = np.unravel_index(np.abs(plain).argmax(), plain.shape)
    np.testing.assert_allclose(found / found[place], plain / plain[place], rtol=1e-4, atol=1e-6)


def test_blind_answers_change_nothing():
    """The attributes without a share are answered from other words; all else is the same."""
    first, second = sampled(), divided()
    codes = second.codes.reshape(USERS, D).copy()
    codes[:, np.setdiff1d(np.arange(D), PLACES)] = 0
    other = type(second)(second.mechanism, second.indptr, None, codes.ravel())
    np.testing.assert_array_equal(
        dense(joined_input(first, second, PLACES, 0.5)), dense(joined_input(first, other, PLACES, 0.5))
    )


def test_whoever_is_silent_has_an_empty_row_and_changes_no_other():
    first, second = sampled().answered_by(WHO), divided().answered_by(WHO)
    alone = divided_input(second, PLACES, 0.5, by_precision=True)
    assert isinstance(alone, SparseMatrix)
    for found in (dense(alone), dense(joined_input(first, second, PLACES, 0.5))):
        assert not found[~WHO].any() and found[WHO].any(axis=1).all()
    first, second = sampled(), divided()
    everybody = dense(joined_input(first, second, PLACES, 0.5))
    some = dense(joined_input(first.answered_by(WHO), second.answered_by(WHO), PLACES, 0.5))
    np.testing.assert_allclose(some[WHO], everybody[WHO], rtol=1e-6)


def test_one_table_for_all_attributes_is_decoded_too():
    reports = divided(shares=None)
    assert len(reports.mechanism.channels) == 1
    found = dense(divided_input(reports, np.arange(D), 0.5, by_precision=True))
    plain = reports.estimate().dense() - 0.5
    np.testing.assert_allclose(found / found[0, 0], plain / plain[0, 0], rtol=1e-4, atol=1e-6)
