"""From scores to a pool: the printed rule, a share of the answers, and the pool with the smallest expected error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphveil.errors import InputError
from graphveil.learn.attributes import (
    Target,
    TargetRound,
    expected_error,
    expected_target,
    pooled_target,
    printed_target,
    ranking,
    signal,
)
from graphveil.mechanisms.features import Asking
from tests.together import each

RANDOM = np.random.default_rng(0)
NULL = RANDOM.chisquare(3, 1000) / 3


def scores_of(clear=(), height=20.0, size=40, seed=1):
    """Scores of attributes that say nothing, but for some that are clear."""
    scores = np.random.default_rng(seed).chisquare(3, size) / 3
    scores[list(clear)] += height
    return scores


# Ranking and fixed rules


def test_the_printed_rule_takes_the_best_rounded_down():
    pools = {
        (2, 0.5): (4,),
        (3, 0.5): (4,),
        (4, 0.5): (3, 4),
        (1, 0.9): (),
        (1, 1.0): (4,),
        (5, 0.0): (),
        (10, 0.3): (2, 3, 4),
    }
    more = np.concatenate([np.arange(5.0), np.full(20, -1.0)])
    for (asked, rho), pool in pools.items():
        scores = np.arange(5.0) if asked <= 5 else more
        assert printed_target(scores, asked, rho) == Target(pool, float(len(pool))), (asked, rho)
    # A product just below an integer counts as that integer.
    assert 0.29 * 100 < 29
    assert len(printed_target(np.arange(200.0), 100, 0.29).pool) == 29
    # Equal scores are ranked by number.
    assert ranking(np.array([1.0, 2.0, 1.0, 2.0])).tolist() == [1, 3, 0, 2]


def test_a_share_of_the_answers_is_about_the_best():
    scores = np.array([0.1, 0.9, 0.5, 0.7])
    assert pooled_target(scores, 2, 0.75, 3) == Target((1, 2, 3), 1.5)
    assert pooled_target(scores, 2, 1.0, 1) == Target((1,), 1.0)
    # Of three asked, two at least are in a pool of three of four.
    assert pooled_target(scores, 3, 0.1, 3) == Target((1, 2, 3), 2.0)
    assert pooled_target(scores, 2, 0.3, 4) == Target((0, 1, 2, 3), 2.0)


def test_no_share_for_the_best_means_no_pool_and_not_that_they_are_left_out():
    scores = scores_of([3, 7])
    for found in (
        printed_target(scores, 4, 0.0),
        pooled_target(scores, 4, 0.0, 8),
        expected_target(scores, NULL, 4, rho=0.0),
    ):
        assert found == Target() and found.options == {}


def test_a_pool_of_more_attributes_than_there_are_is_refused():
    def check(size):
        words = "pool must be an integer from 1 to 40, the number of attributes"
        with pytest.raises(InputError, match=words):
            pooled_target(scores_of(), 1, 0.5, size)
        with pytest.raises(InputError, match=words):
            expected_target(scores_of([1]), NULL, 1, size=size)

    each([0, 41, -1], check)


@given(
    st.integers(2, 12).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d - 1), st.integers(1, d))),
    st.floats(0, 1),
    st.integers(0, 100),
)
def test_every_target_can_be_asked(shape, rho, seed):
    """Whatever T, m and ρ are, also T < m and T = d: `Asking` takes what is chosen."""
    d, asked, size = shape
    random = np.random.default_rng(seed)
    scores, null = random.random(d) * 3, random.random(100)
    targets = [
        printed_target(scores, asked, rho),
        pooled_target(scores, asked, rho, size),
        expected_target(scores, null, asked),
        expected_target(scores, null, asked, rho=rho),
        expected_target(scores, null, asked, size=size),
    ]
    for found in targets:
        pool, share = found.options.get("pool"), found.options.get("from_pool")
        asking = Asking.of(d, asked, pool, share)
        assert math.isfinite(found.from_pool) and asking.inclusion.sum() == pytest.approx(asked)


# Signal


def test_what_chance_explains_is_no_signal_and_a_clear_score_counts_its_whole_excess():
    assert signal(np.full(5, NULL.mean()), NULL).tolist() == [0] * 5
    assert (signal(np.zeros(5), NULL) == 0).all()
    lowest = scores_of()
    assert signal(lowest, NULL).sum() < 0.1 * np.maximum(lowest - NULL.mean(), 0).sum() + 1.0
    scores = scores_of([2, 9])
    found = signal(scores, NULL)
    np.testing.assert_allclose(found[[2, 9]], scores[[2, 9]] - NULL.mean())
    assert found.min() >= 0
    null, scores = np.array([0.0, 0.0, 0.0, 2.0]), np.array([2.0, 2.0, 0.0, 0.0])
    # Two of four are as high, one would be by chance.
    np.testing.assert_allclose(signal(scores, null), [0.75, 0.75, 0, 0])


# The smallest expected error


def test_where_nothing_stands_out_nothing_is_favoured_and_what_is_given_is_kept():
    assert expected_target(np.full(20, NULL.min()), NULL, 2) == Target()
    assert expected_target(np.zeros(20), NULL, 2, rho=0.5) == Target()
    assert expected_target(np.zeros(20), NULL, 2, size=4) == Target()
    assert expected_target(np.ones(1), NULL, 1) == Target()
    scores = scores_of((3, 11, 17, 30))
    assert expected_target(scores, NULL, 2, rho=0.6).from_pool == pytest.approx(1.2)
    assert len(expected_target(scores, NULL, 2, size=9).pool) == 9
    assert set(expected_target(scores, NULL, 2, size=9).pool) >= {3, 11, 17, 30}
    assert expected_target(scores, NULL, 2, size=40) == Target(tuple(range(40)), 2.0)


def test_a_few_clear_attributes_are_the_pool():
    clear = (3, 11, 17, 30)
    scores = scores_of(clear, height=2000.0)
    for asked in (1, 2, 3):
        found = expected_target(scores, NULL, asked)
        assert found.pool == clear and found.from_pool > 0.6 * asked, asked
    for asked in (1, 2):
        assert expected_target(scores, NULL, asked, rho=1.0) == Target(clear, float(asked))


@given(st.one_of(st.none(), st.integers(1, 39)), st.integers(0, 1000))
def test_the_best_are_never_asked_less_often_than_the_others(size, seed):
    found = expected_target(scores_of([2], height=1.0, seed=seed), NULL, 2, size=size)
    assert found.from_pool >= 2 * len(found.pool) / 40 * (1 - 1e-12)


def error_of(weight, null, asked, size, share, before=0.0):
    """The formula, one pool at a time."""
    d, order = len(weight), np.sort(weight)[::-1]
    inside, others = order[:size].sum(), order[size:].sum()
    others = max(others, null.std() * math.sqrt(d - size))
    return inside / (before + share * asked / size) + others / (before + (1 - share) * asked / (d - size))


@settings(max_examples=10)
@given(st.floats(0, 0.7), st.integers(1, 9), st.integers(0, 9))
@example(0.0, 1, 0)
@example(0.05, 3, 2)
@example(0.7, 9, 4)
def test_no_other_pool_and_share_have_a_smaller_error(before, asked, seed):
    scores = scores_of([1, 4, 5], height=6.0 * (seed + 1), size=12, seed=seed)
    weight = signal(scores, NULL)
    found = expected_target(scores, NULL, asked, before=before)
    chosen = error_of(weight, NULL, asked, len(found.pool), found.from_pool / asked, before)
    others = [
        error_of(weight, NULL, asked, size, share, before)
        for size in range(1, 12)
        for share in np.linspace(0.002, 0.998, 499)
        if max(size / 12 * asked, asked - (12 - size)) <= share * asked <= size
    ]
    assert chosen <= min(others) * (1 + 1e-9)
    assert chosen == pytest.approx(min(others), rel=1e-2)


@given(st.integers(0, 1000))
def test_a_given_share_gets_the_best_size(seed):
    scores = scores_of([1, 4, 5], height=15.0, size=12, seed=seed)
    weight, found = signal(scores, NULL), expected_target(scores, NULL, 1, rho=0.7)
    errors = {size: error_of(weight, NULL, 1, size, 0.7) for size in range(1, 12)}
    assert len(found.pool) == min(errors, key=errors.get)


# The split


def test_the_expected_error_falls_with_every_help():
    base = {"attributes": 64, "classes": 4, "heard": 1000.0}
    round_1 = TargetRound(1, 2.0)

    def error(first=round_1, second=round_1, **change):
        return expected_error(first, second, **{**base, **change})

    plain, less, more = error(), TargetRound(1, 1.5), TargetRound(2, 2.0)
    assert (
        max(error(heard=4000.0), error(second=less), error(first=less), error(more), error(second=more))
        < plain
    )
    assert min(error(both=False), error(attributes=256)) > plain


def test_the_expected_error_lies_between_found_and_missed_and_is_finite_at_the_edges():
    first, second = TargetRound(1, 2.0), TargetRound(2, 3.0)
    # One class: a pool of two. Its share is 0.8 of two answers; the rest have 0.4 answers over 62.
    found, missed = 3 / 0.8, 3 / (0.4 / 62)
    options = {"attributes": 64, "classes": 1, "both": False}
    assert expected_error(first, second, heard=1e12, **options) == pytest.approx(found)
    # Who hears nothing finds as often as chance does.
    guessed = 2 / 64 * found + 62 / 64 * missed
    assert expected_error(first, second, heard=1e-12, **options) == pytest.approx(guessed, rel=1e-4)
    both = TargetRound(1, 2.0), TargetRound(1, 2.0)
    edges = [(2, 4), (3, 1), (64, 0), (1, 2)]
    assert [edge for edge in edges if not 0 < expected_error(*both, *edge, 10.0) < math.inf] == []
