import dataclasses

import numpy as np
import pytest

from graphveil.errors import InputError
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


@pytest.mark.parametrize("name", [name for name in ANALYSES if name != "pca"])
def test_attributes_that_decide_come_first(name):
    values, known = decided(deciding=(4, 17))
    assert set(ranking(ANALYSES[name](values, known))[:2].tolist()) == {4, 17}


def test_pca_puts_the_attributes_that_vary_first():
    values, known = decided(deciding=(4, 17))
    assert set(ranking(ANALYSES["pca"](values, known))[:2].tolist()) == {4, 17}


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


def test_validation_labels_choose_the_penalty_of_sma():
    values, known = decided()
    scores = sparse_model_scores(values, known)
    wrong = (known.labels + 1) % 3
    misled = dataclasses.replace(known, labels=np.where(known.validation, wrong, known.labels))
    # Who is always wrong loses least with the smallest weights.
    assert sparse_model_scores(values, misled).sum() < scores.sum()
    strongest = sparse_model_scores(values, known, strengths=1)
    np.testing.assert_array_equal(sparse_model_scores(values, misled), strongest)


def test_sma_on_reports_is_sma_on_the_plain_matrix():
    values, plain, known = setting("multibit", 2)
    scores = sparse_model_scores(values, known, iterations=300)
    other = sparse_model_scores(plain_values(plain), known, iterations=300)
    np.testing.assert_allclose(scores, other, atol=1e-3 * scores.max())


@pytest.mark.parametrize("name", ANALYSES)
def test_a_class_without_training_users_changes_no_order(name):
    values, known = decided()
    more = dataclasses.replace(known, class_count=4)
    found = ranking(ANALYSES[name](values, more))[:2]
    assert set(found.tolist()) == {4, 17}
    labels = np.where(known.validation & (np.arange(300) % 2 == 0), 3, known.labels)
    unseen = ANALYSES[name](values, dataclasses.replace(more, labels=labels))
    assert np.isfinite(unseen).all() and set(ranking(unseen)[:2].tolist()) == {4, 17}


@pytest.mark.parametrize("name", [name for name in ANALYSES if name != "pca"])
def test_one_class_alone_says_nothing(name):
    values, known = decided()
    alone = dataclasses.replace(known, labels=np.zeros(300, dtype=np.int64))
    assert not ANALYSES[name](values, alone).any()


def test_no_tensor_is_as_large_as_users_times_features():
    values, plain, known = setting(features=240)
    pairs = np.random.default_rng(0).integers(0, 80, (90, 2))
    calls = {key: lambda key=key: ANALYSES[key](values, known) for key in ANALYSES}
    calls["correlation"] = lambda: correlation_scores(values, plain[:, 0], known.train_users)
    calls["pairs"] = lambda: pair_fisher_scores(values, pairs[:45], pairs[45:])
    largest = {name: largest_tensor(call) for name, call in calls.items()}
    assert [name for name, size in largest.items() if not 0 < size <= plain.size / 4] == []


def test_known_labels_must_fit():
    none = np.zeros(3, dtype=bool)
    some = np.array([True, False, False])
    with pytest.raises(InputError, match="as long"):
        KnownLabels(np.zeros(3, dtype=int), none[:2], none, 2)
    with pytest.raises(InputError, match="there are none"):
        KnownLabels(np.zeros(3, dtype=int), none, some, 2)
    with pytest.raises(InputError, match="there are none"):
        KnownLabels(np.full(3, -1), some, none, 2)
    with pytest.raises(InputError, match="below 2"):
        KnownLabels(np.full(3, 2), some, none, 2)


def test_sma_without_validation_users_says_what_to_do():
    values, known = decided()
    with pytest.raises(InputError, match="validation users"):
        sparse_model_scores(values, dataclasses.replace(known, validation=np.zeros(300, dtype=bool)))


def test_combined_scores_weigh_shares():
    first, second = np.array([1.0, 3.0, 0.0]), np.array([0.0, 0.0, 100.0])
    np.testing.assert_allclose(combined_scores([(first, 3), (second, 1)]), [3 / 16, 9 / 16, 1 / 4])
    np.testing.assert_allclose(combined_scores([(first, 1), (np.zeros(3), 1)]), first / 8)
    for wrong in ([], [(first, 0.0)], [(first, 2.0), (second, -1.0)]):
        with pytest.raises(InputError, match="weights"):
            combined_scores(wrong)
