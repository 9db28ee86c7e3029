"""Models that give a class to a row: from volunteers' rows, and from noisy reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from graphveil.learn.public_model import (
    REPORT_TEMPERATURE,
    UNSEEN,
    Means,
    _regression,
    _Space,
    fit_rows,
    learn_means,
    model_of_means,
    unit_rows,
)
from tests.collectives import together


def separable(users=90, values=12, seed=0, strength=0.8):
    """Rows of zeros and ones, of which the first three say the class."""
    random = np.random.default_rng(seed)
    labels = np.arange(users) % 3
    chance = np.full((users, values), 0.2)
    chance[np.arange(users), labels] = 0.2 + strength
    return (random.random((users, values)) < chance).astype(float), labels


def certain(labels, classes=3):
    return np.eye(classes)[labels]


# Rows over their length


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_are_divided_by_their_length_and_zeros_stay(kind):
    found = unit_rows(kind(np.array([[3.0, 4.0], [0.0, 0.0]])))
    dense = found.toarray() if hasattr(found, "tocsr") else found
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0.0, 0.0]])


# Volunteers


def test_separable_rows_are_told_apart_and_gain_about_what_they_tell():
    rows, labels = separable()
    taught, again, sparse = (
        fit_rows(each, certain(labels), seed=0) for each in (rows, rows, csr_array(rows))
    )
    others, theirs = separable(seed=1)
    # Whoever knows how rows come about is right in 0.64 + 0.32/2 + 0.04/3 = 81 of 100.
    assert (taught.scores(others).argmax(axis=1) == theirs).mean() > 0.7
    assert 0.4 < taught.gain < np.log(3)
    np.testing.assert_allclose(taught.scores(rows), sparse.scores(rows), atol=1e-6)
    assert np.array_equal(taught.weights, again.weights)
    # Likely classes teach too.
    likely = fit_rows(rows, 0.7 * certain(labels) + 0.1, seed=0)
    assert (likely.scores(rows).argmax(axis=1) == labels).mean() > 0.8
    # Rows that tell nothing gain next to nothing.
    rows, labels = separable(strength=0.0)
    assert fit_rows(rows, certain(labels), seed=0).gain < 0.02


def test_scores_are_log_likelihood_ratios_so_that_a_rare_class_is_not_counted_twice():
    """With the prior taken off, scores of rows that tell nothing are about equal, however rare a class is."""
    random = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [120, 20, 10])
    rows = random.random((150, 4))
    scores = fit_rows(rows, certain(labels), seed=0).scores(rows)
    assert np.abs(scores - scores.mean(axis=1, keepdims=True)).max() < 1.0


def test_own_scores_are_by_a_model_that_others_taught():
    """Labels that are drawn at random cannot be told, not even by those who taught: only a model that saw them could."""
    random = np.random.default_rng(5)
    rows, labels = random.random((100, 200)), random.integers(0, 3, 100)
    taught = fit_rows(rows, certain(labels), seed=0)
    assert (taught.own.argmax(axis=1) == labels).mean() < 0.5
    assert (taught.scores(rows).argmax(axis=1) == labels).mean() > 0.8


def test_a_class_that_nobody_is_of_is_spoken_against():
    rows, labels = separable()
    weights, bias = _regression(rows, certain(labels % 2), 10.0)
    assert (weights[2] == 0).all()
    assert bias[2] == UNSEEN


def test_a_regression_that_is_cut_short_says_nothing_of_it():
    """Warnings are errors here; two classes that no line divides take more steps than there are at this scale."""
    random = np.random.default_rng(0)
    points = 1e3 * random.normal(size=(200, 30)) * np.logspace(-3, 0, 30)
    targets = np.eye(3)[random.integers(0, 3, 200)]
    weights, _ = _regression(points, targets, 100.0)
    assert np.isfinite(weights).all()


def test_volunteers_who_are_few_or_of_one_class_teach_next_to_nothing():
    """Scores are without the classes' shares: they must not speak for classes that nobody is of."""
    rows = separable(users=10)[0]
    taught = fit_rows(rows, certain(np.zeros(10, dtype=int)), seed=0)
    np.testing.assert_allclose(taught.scores(rows), 0, atol=1e-12)
    for users in (1, 2):
        rows, labels = separable(users=users)
        assert np.isfinite(fit_rows(rows, certain(labels), seed=0).scores(rows)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_in_the_span_of_the_rows_the_regression_is_the_plain_one(classes):
    random = np.random.default_rng(classes)
    rows, labels = random.normal(size=(30, 80)), np.arange(30) % classes
    space = _Space.of(rows)
    assert space.points.shape == (30, 30)
    weights, bias = _regression(space.points, certain(labels, classes), 0.5)
    plain = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(rows, labels)
    np.testing.assert_allclose(space.points @ space.points.T, rows @ rows.T, atol=1e-10)
    new = random.normal(size=(20, 80))
    found = softmax(new @ space.lifted(weights).T + bias, axis=1)
    np.testing.assert_allclose(found, plain.predict_proba(new), atol=5e-3)


# Reports


def reported(apart, users=6000, noise=1.0, seed=0):
    """Reports around the means of classes, with normal noise of a known variance."""
    random = np.random.default_rng(seed)
    labels = np.arange(users) % len(apart)
    rows = 0.3 + apart[labels] + random.normal(size=(users, apart.shape[1])) * np.sqrt(noise)
    return rows, certain(labels, len(apart))


def centred(apart):
    return apart - apart.mean(axis=0)


def test_means_are_recovered_where_noise_is_known_and_the_signal_is_the_surplus_over_noise():
    apart = np.zeros((3, 20))
    apart[0, :4], apart[1, 4:8] = 1.0, -0.5
    apart = centred(apart)
    rows, likely = reported(apart)
    found = learn_means(rows, likely, np.ones(20))
    # Three classes of 2000 users each: errors of 1/√2000 = 0.022 a mean; five of them are never seen here.
    np.testing.assert_allclose(found.apart, apart, atol=0.11)
    np.testing.assert_allclose(found.centre, np.full(20, 0.3), atol=0.08)
    # Two classes of two users each, one value: the regression's number is the difference of means over √2.
    rows, likely = np.array([[3.0], [5.0], [1.0], [-1.0]]), certain(np.array([0, 0, 1, 1]), 2)
    # The Gram matrix of ±1/2 columns has the eigenvalue 2; found = ±4/√2, error = 1/2.
    assert learn_means(rows, likely, np.ones(1)).signal == pytest.approx(8 / 0.5 - 1)


def test_pure_noise_is_shrunk_to_next_to_nothing_and_its_signal_is_small():
    rows, likely = reported(np.zeros((3, 200)))
    found = learn_means(rows, likely, np.ones(200))
    plain = centred(np.stack([rows[likely[:, each] == 1].mean(axis=0) for each in range(3)]))
    assert (found.apart**2).sum() < 0.1 * (plain**2).sum()
    # A sum of 400 squares around 1: its deviation is √800.
    assert 0 <= found.signal < 6 * np.sqrt(800)
    loud = np.zeros((3, 200))
    loud[0, :50] = 0.5
    assert learn_means(*reported(centred(loud)), np.ones(200)).signal > 10_000
    # Classes that are equally likely for everybody teach nothing.
    found = learn_means(rows, np.full(likely.shape, 1 / 3), np.ones(200))
    assert not found.apart.any() and found.signal == 0


def test_scores_of_means_are_those_of_normal_rows():
    centre, apart, spread = np.array([0.5, 0.2]), np.array([[0.3, 0.0], [-0.3, 0.1]]), np.array([0.04, 0.09])
    taught = model_of_means(Means(centre, apart, 1.0), spread, unit=False)
    rows = np.random.default_rng(0).random((5, 2))
    logs = [norm.logpdf(rows, centre + each, np.sqrt(spread)).sum(axis=1) for each in apart]
    expected = REPORT_TEMPERATURE * (logs[0] - logs[1])
    scores = taught.scores(rows)
    np.testing.assert_allclose(scores[:, 0] - scores[:, 1], expected, rtol=1e-9)
    taught = model_of_means(Means(np.zeros(2), np.eye(2), 1.0), np.ones(2), unit=True)
    rows = np.array([[0.1, 0.2]])
    np.testing.assert_allclose(taught.scores(rows), taught.scores(50 * rows))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_users_of_all_workers_teach(sparse):
    """One worker has nobody who reports."""
    apart = centred(np.array([[1.0, 0, 0, 0, 0], [0, 0.5, 0, 0, 0], [0, 0, 0, 0, -1]]))
    rows, likely = reported(apart, users=600)
    whole = learn_means(rows, likely, np.ones(5))
    rows = csr_array(rows) if sparse else rows
    own = [np.arange(0, 600, 3), np.empty(0, dtype=int), np.flatnonzero(np.arange(600) % 3)]
    workers = together(
        3,
        lambda collective: learn_means(
            rows[own[collective.rank]], likely[own[collective.rank]], np.ones(5), collective
        ),
    )
    for found in (learn_means(rows, likely, np.ones(5)), *workers):
        np.testing.assert_allclose(found.apart, whole.apart, rtol=1e-9)
        np.testing.assert_allclose(found.centre, whole.centre, rtol=1e-9)
        assert found.signal == pytest.approx(whole.signal)
