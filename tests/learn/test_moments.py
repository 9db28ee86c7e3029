import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.learn.attribute_analysis import (
    SMOOTHING,
    correlation_scores,
    fisher_scores,
    pair_fisher_scores,
    principal_scores,
)
from tests.learn.analysis import SILENT, decided, plain_values, setting

SETTINGS = [("multibit", 2), ("multibit", 0), ("piecewise", 3), ("laplace", 1)]


def plain_fisher(columns, classes):
    """S_B / (S_W + ς), written down from TOGL's Eq. 5."""
    between, within = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    for each in np.unique(classes):
        part, share = columns[classes == each], np.mean(classes == each)
        between += share * (part.mean(0) - columns.mean(0)) ** 2
        within += share * part.var(0)
    return between / (within + SMOOTHING * np.mean(between + within))


@pytest.mark.parametrize(("name", "hops"), SETTINGS)
def test_fisher_scores_are_those_of_the_plain_matrix(name, hops):
    values, plain, known = setting(name, hops)
    users = known.train_users
    scores = fisher_scores(values, known)
    np.testing.assert_allclose(scores, plain_fisher(plain[users], known.labels[users]), rtol=1e-3, atol=1e-7)
    assert scores[SILENT] == 0 and scores.dtype == np.float64


@pytest.mark.parametrize(("name", "hops"), SETTINGS)
def test_pair_scores_are_those_of_the_products(name, hops):
    values, plain, _ = setting(name, hops)
    random = np.random.default_rng(0)
    linked, unlinked = random.integers(0, 80, (50, 2)), random.integers(0, 80, (70, 2))
    # A pair counts as often as it is there.
    linked[1] = linked[0]
    products = np.concatenate([plain[pairs[:, 0]] * plain[pairs[:, 1]] for pairs in (linked, unlinked)])
    expected = plain_fisher(products, np.repeat([0, 1], [50, 70]))
    scores = pair_fisher_scores(values, linked, unlinked)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-7)
    assert scores[SILENT] == 0


def test_the_attribute_that_linked_users_share_comes_first():
    random = np.random.default_rng(0)
    rows = random.standard_normal((200, 20))
    first, second = np.arange(0, 200, 2), np.arange(1, 200, 2)
    rows[second, 6] = rows[first, 6]
    linked, unlinked = np.stack([first, second], 1), np.stack([first, np.roll(second, 5)], 1)
    assert pair_fisher_scores(plain_values(rows), linked, unlinked).argmax() == 6
    with pytest.raises(InputError, match="both linked and unlinked"):
        pair_fisher_scores(plain_values(rows), linked[:0], unlinked)


@pytest.mark.parametrize(("name", "hops"), SETTINGS)
def test_correlations_are_numpy_s(name, hops):
    values, plain, known = setting(name, hops)
    users = known.train_users
    target = np.random.default_rng(0).standard_normal(80) + plain[:, 5] / plain[:, 5].std()
    scores = correlation_scores(values, target, users)
    # The silent attribute has no correlation to compute.
    others = np.delete(np.arange(plain.shape[1]), SILENT)
    varying = others[plain[users][:, others].std(0) > 0]
    expected = [np.corrcoef(plain[users, j], target[users])[0, 1] ** 2 for j in varying]
    np.testing.assert_allclose(scores[varying], expected, rtol=1e-3, atol=1e-6)
    assert scores[SILENT] == 0
    others_changed = np.where(np.isin(np.arange(80), users), target, np.nan)
    np.testing.assert_array_equal(correlation_scores(values, others_changed, users), scores)


def test_constants_correlate_with_nothing():
    rows = np.random.default_rng(0).standard_normal((50, 15))
    rows[:, 2] = 0.1
    values = plain_values(rows)
    target = rows[:, 4].copy()
    scores = correlation_scores(values, target, np.arange(50))
    assert scores[2] == 0 and scores[4] == pytest.approx(1, abs=1e-6) and scores.max() <= 1
    assert not correlation_scores(values, np.full(50, 0.1), np.arange(50)).any()
    with pytest.raises(InputError, match="finite"):
        correlation_scores(values, np.full(50, np.nan), np.arange(50))


@pytest.mark.parametrize(("name", "hops"), SETTINGS)
def test_principal_scores_are_those_of_the_svd(name, hops):
    values, plain, known = setting(name, hops)
    _, sizes, loadings = np.linalg.svd(plain - plain.mean(0), full_matrices=False)
    expected = (sizes[:3, None] ** 2 / len(plain) * loadings[:3] ** 2).sum(0)
    scores = principal_scores(values, known)
    np.testing.assert_allclose(scores, expected, rtol=1e-2, atol=1e-4 * expected.max())
    np.testing.assert_array_equal(scores, principal_scores(values, known))


def test_with_few_attributes_all_components_count_and_nothing_reported_scores_nothing():
    rows = np.random.default_rng(0).standard_normal((300, 2)) * [1, 3]
    _, known = decided()
    np.testing.assert_allclose(principal_scores(plain_values(rows), known), rows.var(0), rtol=1e-5)
    silent = plain_values(np.zeros((300, 20)))
    for analysis in (fisher_scores, principal_scores):
        assert not analysis(silent, known).any()
