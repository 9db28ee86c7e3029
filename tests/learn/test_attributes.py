import dataclasses

import numpy as np
import pytest

from graphveil.learn.attribute_analysis import (
    ANALYSES,
    KnownLabels,
    combined_scores,
    correlation_scores,
    pair_fisher_scores,
    sparse_model_scores,
)
from graphveil.learn.attributes import ranking
from tests.learn.analysis import SILENT, decided, largest_tensor, plain_values, setting
from tests.refusals import check_refused
from tests.together import each


def with_labels(known, users, seed):
    """The same with other labels for these users."""
    labels = known.labels.copy()
    labels[users] = np.random.default_rng(seed).integers(0, known.class_count, int(np.sum(users)))
    return dataclasses.replace(known, labels=labels)


@pytest.mark.parametrize("name", ANALYSES)
def test_scores_are_finite_and_at_least_0_and_the_same_again(name):
    def check(case):
        values, _, known = setting(*case)
        scores = ANALYSES[name](values, known)
        assert scores.shape == (40,) and scores.dtype == np.float64
        assert np.isfinite(scores).all() and (scores >= 0).all() and scores.any()
        assert scores[SILENT] == 0
        np.testing.assert_array_equal(ANALYSES[name](values, known), scores)

    each([("multibit", 2), ("piecewise", 0), ("laplace", 1)], check)


@pytest.mark.parametrize("name", ANALYSES)
def test_attributes_that_decide_come_first_whatever_class_has_no_training_users(name):
    """They vary most too, which is what pca looks at."""
    values, known = decided(deciding=(4, 17))
    more = dataclasses.replace(known, class_count=4)
    labels = np.where(known.validation & (np.arange(300) % 2 == 0), 3, known.labels)
    unseen = dataclasses.replace(more, labels=labels)
    for given in (known, more, unseen):
        scores = ANALYSES[name](values, given)
        assert np.isfinite(scores).all() and set(ranking(scores)[:2].tolist()) == {4, 17}
    alone = dataclasses.replace(known, labels=np.zeros(300, dtype=np.int64))
    assert name == "pca" or not ANALYSES[name](values, alone).any()


@pytest.mark.parametrize("name", ANALYSES)
def test_only_labels_of_training_users_count_and_those_of_validation_users_for_sma(name):
    values, _, known = setting()
    analysis = ANALYSES[name]
    scores = analysis(values, known)
    rest = ~known.train & ~known.validation
    np.testing.assert_array_equal(analysis(values, with_labels(known, rest, 1)), scores)
    if name != "sma":
        np.testing.assert_array_equal(analysis(values, with_labels(known, known.validation, 1)), scores)
    changed = analysis(values, with_labels(known, known.train, 1))
    assert np.array_equal(changed, scores) == (name == "pca")


def test_validation_labels_choose_the_penalty_of_sma_which_is_that_of_the_plain_matrix():
    values, known = decided()
    scores = sparse_model_scores(values, known)
    wrong = (known.labels + 1) % 3
    misled = dataclasses.replace(known, labels=np.where(known.validation, wrong, known.labels))
    # Who is always wrong loses least with the smallest weights.
    assert sparse_model_scores(values, misled).sum() < scores.sum()
    strongest = sparse_model_scores(values, known, strengths=1)
    np.testing.assert_array_equal(sparse_model_scores(values, misled), strongest)
    values, plain, known = setting("multibit", 2)
    scores = sparse_model_scores(values, known, iterations=300)
    other = sparse_model_scores(plain_values(plain), known, iterations=300)
    np.testing.assert_allclose(scores, other, atol=1e-3 * scores.max())


def test_no_tensor_is_as_large_as_users_times_features():
    values, plain, known = setting(features=240)
    pairs = np.random.default_rng(0).integers(0, 80, (90, 2))
    calls = {key: lambda key=key: ANALYSES[key](values, known) for key in ANALYSES}
    calls["correlation"] = lambda: correlation_scores(values, plain[:, 0], known.train_users)
    calls["pairs"] = lambda: pair_fisher_scores(values, pairs[:45], pairs[45:])
    largest = {name: largest_tensor(call) for name, call in calls.items()}
    assert [name for name, size in largest.items() if not 0 < size <= plain.size / 4] == []


def test_known_labels_and_weights_must_fit():
    none, some, labels = np.zeros(3, dtype=bool), np.array([True, False, False]), np.zeros(3, dtype=int)
    check_refused(
        KnownLabels,
        [
            (labels, none[:2], none, 2, "as long"),
            (labels, none, some, 2, "there are none"),
            (labels - 1, some, none, 2, "there are none"),
            (labels + 2, some, none, 2, "below 2"),
        ],
    )
    values, known = decided()
    nobody = dataclasses.replace(known, validation=np.zeros(300, dtype=bool))
    check_refused(sparse_model_scores, [(values, nobody, "validation users")])
    first = np.array([1.0, 3.0, 0.0])
    wrong = [[], [(first, 0.0)], [(first, 2.0), (first, -1.0)]]
    check_refused(combined_scores, [(each, "weights") for each in wrong])


def test_combined_scores_weigh_shares():
    first, second = np.array([1.0, 3.0, 0.0]), np.array([0.0, 0.0, 100.0])
    np.testing.assert_allclose(combined_scores([(first, 3), (second, 1)]), [3 / 16, 9 / 16, 1 / 4])
    np.testing.assert_allclose(combined_scores([(first, 1), (np.zeros(3), 1)]), first / 8)
