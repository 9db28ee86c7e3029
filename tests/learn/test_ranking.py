"""Rankings: exact numbers of small ones, beside counting and numpy."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.errors import InputError
from graphveil.learn.attributes import (
    Ranking,
    best_attributes,
    chance_jaccard,
    chance_of_sharing,
    degree_correlations,
    jaccard,
)
from tests.together import each


def test_a_ranking_says_how_alike_and_how_fair_its_best_attributes_are():
    scores = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 1.0, 2.0]])
    correlations = np.array([[0.2, -0.4, 0.9, 0.9], [0.2, 0.9, 0.9, 0.0]])
    found = Ranking(scores, correlations, 2, ((0, 0), (1, 0)))
    assert [each.tolist() for each in found.tops] == [[0, 1], [0, 3]]
    assert found.jaccard == pytest.approx(1 / 3)
    assert found.degree_correlation == pytest.approx((0.3 + 0.1) / 2)
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.times_in_top.tolist() == [2, 1, 0, 1]
    turned = replace(found, scores=scores[::-1])
    assert found.shared(found).tolist() == [2, 2]
    assert found.shared(turned).tolist() == [1, 1]


def test_attributes_that_score_alike_are_drawn():
    firsts = [int(best_attributes(np.zeros(50), 1, (seed, 0))[0]) for seed in range(20)]
    assert len(set(firsts)) > 10
    assert (
        best_attributes(np.zeros(50), 5, (3, 0)).tolist() != best_attributes(np.zeros(50), 5, (3, 1)).tolist()
    )
    scores = np.zeros(50)
    scores[[7, 30]] = 2.0, 1.0
    assert best_attributes(scores, 2, (0, 0)).tolist() == [7, 30]


def test_jaccard_is_the_mean_over_pairs():
    assert jaccard([[1, 2], [1, 2]]) == 1
    assert jaccard([[1, 2], [3], np.array([2, 1])]) == pytest.approx(1 / 3)
    assert jaccard([[], []]) == 1
    with pytest.raises(InputError, match="two sets"):
        jaccard([[1]])


def test_what_chance_gives_is_what_counting_gives():
    def check(case):
        size, top = case
        first, *others = sets = list(combinations(range(size), top))
        assert chance_jaccard(size, top) == pytest.approx(
            np.mean([jaccard([first, other]) for other in sets])
        )
        shared = [top, *(len(set(first) & set(other)) for other in others)]
        twice = np.add.outer(shared, shared)
        for least in range(2 * top + 1):
            assert chance_of_sharing(size, top, 2, least) == pytest.approx((twice >= least).mean())

    each([(5, 1), (6, 2), (7, 3), (6, 4), (3, 3)], check)


def test_correlations_are_those_of_numpy():
    random = np.random.default_rng(0)
    features = (random.random((50, 6)) < 0.3).astype(np.float64)
    features[:, 5] = 1.0
    degrees = random.integers(1, 9, 50)
    expected = [np.corrcoef(features[:, place], degrees)[0, 1] for place in range(5)]
    for rows in (features, csr_array(features), features.astype(np.uint8)):
        assert degree_correlations(rows, degrees) == pytest.approx([*expected, 0.0])
