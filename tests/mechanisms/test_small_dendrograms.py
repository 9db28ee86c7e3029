"""Dendrograms of a few users, written out: their number, their likelihoods, and what a step must leave as it is."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.mechanisms.small_dendrograms import (
    Sketches,
    between,
    dendrograms,
    inner_nodes,
    leaves,
    log_likelihood,
    noisy_chances,
    set_chance,
)

EVERYTHING = frozenset(combinations(range(4), 2))


def shape(tree):
    """What distinguishes two dendrograms: which users are below each inner node."""
    return frozenset(frozenset(leaves(node)) for node in inner_nodes(tree))


def steps_from(tree):
    """All dendrograms that one step may lead to, with repeats."""
    if not isinstance(tree, tuple):
        return []
    found = []
    for side in (0, 1):
        inner, beside = tree[side], tree[1 - side]
        if isinstance(inner, tuple):
            one, two = inner
            found += [((one, beside), two), ((two, beside), one)]
        found += [(changed, beside) for changed in steps_from(inner)]
    return found


def proposals(trees):
    places = {shape(tree): place for place, tree in enumerate(trees)}
    matrix = np.zeros((len(trees), len(trees)))
    for place, tree in enumerate(trees):
        reached = steps_from(tree)
        for other in reached:
            matrix[place, places[shape(other)]] += 1 / len(reached)
    return matrix


def accepted(matrix, *scores):
    """A step whose proposal is accepted by one rule of Metropolis after the other."""
    chance = matrix.copy()
    for score in scores:
        chance *= np.minimum(1, np.exp(score[None, :] - score[:, None]))
    return chance + np.diag(1 - chance.sum(axis=1))


def stationary(matrix):
    values, vectors = np.linalg.eig(matrix.T)
    found = np.real(vectors[:, np.argmax(np.real(values))])
    return found / found.sum()


def scores(trees, linked, counted):
    return np.array([float(log_likelihood(tree, linked, counted)) for tree in trees])


def test_there_are_as_many_dendrograms_as_rooted_binary_trees_and_steps_lead_everywhere():
    for users, count in enumerate((1, 1, 3, 15, 105), 1):
        trees = dendrograms(users)
        assert len({shape(tree) for tree in trees}) == len(trees) == count
    matrix = proposals(dendrograms(4))
    assert np.array_equal(matrix, matrix.T)
    assert (np.linalg.matrix_power(matrix + np.eye(15), 15) > 0).all()


def test_every_pair_belongs_to_one_inner_node_with_its_likeliest_probability():
    for tree in dendrograms(4):
        pairs = [pair for node in inner_nodes(tree) for pair in between(node)]
        assert sorted(pairs) == sorted(EVERYTHING)
    tree, linked = ((0, 1), (2, 3)), frozenset({(0, 1), (0, 2)})
    # One of four pairs between the two halves, the one of the first half, none of the second.
    assert float(log_likelihood(tree, linked, EVERYTHING)) == pytest.approx(
        math.log(1 / 4) + 3 * math.log(3 / 4)
    )


def test_a_private_step_on_what_a_public_step_accepts_has_the_distribution_that_is_claimed():
    """Taking turns, as printed, ends in neither distribution."""
    trees, matrix = dendrograms(4), proposals(dendrograms(4))
    public = scores(trees, frozenset({(0, 1), (1, 2)}), EVERYTHING)
    private = 3 * scores(trees, frozenset({(2, 3)}), EVERYTHING)
    wanted = np.exp(public + private)
    found = stationary(accepted(matrix, public, private))
    assert np.allclose(found, wanted / wanted.sum(), atol=1e-12)
    printed = stationary(accepted(matrix, public) @ accepted(matrix, private))
    for other in (np.exp(public), np.exp(private), wanted):
        assert np.abs(printed - other / other.sum()).max() > 0.01


def revealed(weight):
    """By how much the likeliest dendrogram of the exponential mechanism tells of one link, over all graphs of four users in which two
    links are public."""
    trees, worst = dendrograms(4), 0.0
    for known in map(frozenset, combinations(sorted(EVERYTHING), 2)):
        domain, public = EVERYTHING - known, scores(trees, known, EVERYTHING)
        chances = {}
        for size in range(len(domain) + 1):
            for graph in map(frozenset, combinations(sorted(domain), size)):
                weights = np.exp(public + weight * scores(trees, graph, domain))
                chances[graph] = weights / weights.sum()
        for graph, with_it in chances.items():
            for link in graph:
                gap = np.log(with_it) - np.log(chances[graph - {link}])
                worst = max(worst, float(np.abs(gap).max()))
    return worst


def test_with_twice_the_sensitivity_a_dendrogram_reveals_no_more_than_its_budget():
    """With the sensitivity once, as printed, it reveals more."""
    sensitivity = math.log(4) + 3 * math.log(4 / 3)
    assert 0.5 < revealed(1.0 / (2 * sensitivity)) <= 1.0
    assert revealed(1.0 / sensitivity) > 1.08


def test_noisy_counts_and_sets_of_a_region_have_all_the_probability():
    for count, most in ((0, 0), (0, 1), (1, 1), (2, 5)):
        chances = noisy_chances(count, most, Fraction(1, 3))
        assert len(chances) == most + 1 and sum(chances) == 1
    numbers = noisy_chances(2, 6, Fraction(1, 2))
    sets = [frozenset(named) for size in range(7) for named in combinations(sorted(EVERYTHING), size)]
    assert sum(set_chance(EVERYTHING, named, numbers) for named in sets) == 1


def test_what_may_be_drawn_has_all_the_probability_and_nothing_else():
    """Public pairs and pairs of others are never drawn."""
    sketches = Sketches(4, frozenset({0, 1, 3}), frozenset({(0, 1)}), 0.3, Fraction(1, 2), (0.0, 0.0))
    assert sum(sketches.chances(frozenset({(0, 3)}))) == 1
    assert sum(sketches.published(frozenset({(0, 3)}), sorted(EVERYTHING))) == 1
    assert sketches.domain == {(0, 3), (1, 3)}
    assert sketches.published(frozenset(), [(0, 1), (2, 3)])[1:] == [0, 0, 0]
    with pytest.raises(InputError, match="6 users have too many dendrograms"):
        Sketches(6, frozenset(), frozenset(), 0.0, Fraction(1, 2), (0.0, 0.0))
