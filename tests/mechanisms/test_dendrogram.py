"""Dendrograms in compiled code: the same as those written out, and drawn with the probabilities that are written out."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from graphveil.channels import SeededBits
from graphveil.mechanisms import dendrogram
from graphveil.mechanisms.small_dendrograms import (
    Sketches,
    dendrograms,
    inner_nodes,
    leaves,
    log_likelihood,
)

ALARM = 1e-6
NEVER = (0.0, 0.0)


def links(users, public=(), private=(), both=()):
    kinds = [*public, *both, *private]
    named = [dendrogram.PUBLIC, dendrogram.KNOWN, dendrogram.PRIVATE]
    array = np.array(kinds, dtype=np.int64).reshape(-1, 2)
    return dendrogram.links_of(
        users, array, np.repeat(named, [len(public), len(both), len(private)]).astype(np.int8)
    )


def everybody(users):
    return np.ones(users, dtype=np.bool_)


def random_tree(users, words, held=None, graph=None):
    """A random dendrogram of those who are held, or of all; with the links of a graph counted."""
    held = everybody(users) if held is None else held
    tree = dendrogram.random_tree(users, held, words.take(users))
    if graph is not None:
        dendrogram.count_links(tree, graph)
    return tree


def nested(tree, node=None):
    """A compiled dendrogram as it is written out."""
    users = (len(tree.parent) + 1) // 2
    node = int(np.flatnonzero(tree.parent == dendrogram.NOBODY)[0]) if node is None else node
    if node < users:
        return node
    return nested(tree, int(tree.left[node])), nested(tree, int(tree.right[node]))


def shape(tree):
    return frozenset(frozenset(leaves(node)) for node in inner_nodes(tree))


def random_links(users, chance, seed):
    pairs = np.array(list(combinations(range(users), 2)))
    kinds = np.random.default_rng(seed).choice(
        [-1, 0, 1, 2], size=len(pairs), p=[1 - chance, *[chance / 3] * 3]
    )
    return [[tuple(pair) for pair in pairs[kinds == kind].tolist()] for kind in (0, 1, 2)]


@pytest.mark.statistical
def test_any_dendrogram_is_equally_likely_to_begin_with():
    draws, random_bits = 30_000, SeededBits(1)
    drawn = Counter(shape(nested(random_tree(4, random_bits))) for _ in range(draws))
    expected = draws / 15
    assert len(drawn) == 15
    assert sum((count - expected) ** 2 / expected for count in drawn.values()) < chi2.isf(ALARM, 14)


@pytest.mark.parametrize("users", [1, 2, 3, 30])
def test_a_dendrogram_has_every_user_once(users):
    tree = random_tree(users, SeededBits(2))
    assert sorted(leaves(nested(tree))) == list(range(users))
    for node in range(users, 2 * users - 1):
        assert tree.size[node] == tree.held[node] == len(leaves(nested(tree, node)))


def test_links_are_counted_at_their_lowest_common_ancestors():
    public, both, private = random_links(9, 0.6, 3)
    tree = random_tree(9, SeededBits(3), graph=links(9, public, private, both))
    for node in range(9, 17):
        one, two = (set(leaves(nested(tree, int(side[node])))) for side in (tree.left, tree.right))
        counted = [
            sum(1 for a, b in kind if (a in one and b in two) or (a in two and b in one))
            for kind in (public + both, both, private)
        ]
        assert tree.links[node].tolist() == counted


def test_likelihoods_are_those_that_are_written_out():
    public, both, private = random_links(5, 0.7, 4)
    tree = random_tree(5, SeededBits(4), graph=links(5, public, private, both))
    everything, written = frozenset(combinations(range(5), 2)), nested(tree)
    # Of private pairs those are left out that have a public link; here all of `public` would be `both`, so it counts as unknown.
    domain = everything - frozenset(both)
    assert dendrogram.likelihoods(tree) == pytest.approx(
        (
            float(log_likelihood(written, frozenset(public + both), everything)),
            float(log_likelihood(written, frozenset(private), domain)),
        )
    )


def test_after_any_number_of_steps_the_counts_are_still_right():
    public, both, private = random_links(40, 0.3, 5)
    held = np.random.default_rng(5).random(40) < 0.7
    graph = links(40, public, private, both)
    tree = random_tree(40, SeededBits(5), held, graph)
    assert dendrogram.walk(tree, graph, SeededBits(6).take(3 * 5000), 0.2) > 100
    counted = tree.links.copy()
    dendrogram.count_links(tree, graph)
    assert np.array_equal(counted, tree.links)
    for node in range(40, 79):
        below = leaves(nested(tree, node))
        assert tree.size[node] == len(below) and tree.held[node] == held[below].sum()
        assert tree.parent[tree.left[node]] == tree.parent[tree.right[node]] == node


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("users", "public", "private", "tilt"),
    [
        (5, [], [(0, 1), (2, 3), (0, 3)], 2.0),
        (5, [(0, 1), (1, 2), (0, 2)], [(3, 4), (0, 3)], 2.0),
        (5, [(0, 1), (1, 2), (3, 4)], [], 0.0),
    ],
)
def test_the_walk_ends_in_the_distribution_that_is_written_out(users, public, private, tilt):
    """Chi-square over all dendrograms of five users, 20,000 walks of 500 steps."""
    known = frozenset(public)
    sketches = Sketches(users, frozenset(range(users)), known, tilt, Fraction(1, 2), NEVER)
    expected = {shape(tree): float(chance) for tree, chance, _ in sketches.drawn(frozenset(private))}
    graph, random_bits, draws = links(users, [], private, public), SeededBits(7), 20_000
    drawn = Counter()
    for _ in range(draws):
        tree = random_tree(users, random_bits, graph=graph)
        dendrogram.walk(tree, graph, random_bits.take(3 * 500), tilt)
        drawn[shape(nested(tree))] += 1
    assert set(drawn) <= set(expected) and len(expected) == len(dendrograms(users))
    distance = sum((drawn[key] - draws * chance) ** 2 / (draws * chance) for key, chance in expected.items())
    assert distance < chi2.isf(ALARM, len(expected) - 1)


def test_a_walk_without_private_steps_does_not_look_at_private_links():
    public = [(0, 1), (1, 2), (4, 5)]
    ends = []
    for private in ([], [(0, 5), (2, 3), (3, 4)]):
        graph = links(6, public, private)
        tree = random_tree(6, SeededBits(8), graph=graph)
        dendrogram.walk(tree, graph, SeededBits(9).take(3 * 300), 0.0)
        ends.append(tree.parent.tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("least", [NEVER, (2.0, 6.0), (1e9, 1e9), (1e9, 12.0)])
def test_regions_are_those_that_are_written_out(least):
    users, held = 5, np.array([True, True, False, True, True])
    public, private = [(0, 1), (2, 3)], [(0, 3), (1, 4), (3, 4)]
    graph = links(users, [(2, 3)], private, [(0, 1)])
    sketches = Sketches(users, frozenset({0, 1, 3, 4}), frozenset(public), 0.0, Fraction(1, 2), least)
    for seed in range(30):
        tree = random_tree(users, SeededBits(seed), held, graph)
        regions = dendrogram.regions_of(tree, held, *least)
        expected = sorted(
            (len(pairs), len(pairs & frozenset(private))) for pairs in sketches.regions(nested(tree))
        )
        assert sorted(zip(regions.pairs.tolist(), regions.counts.tolist(), strict=True)) == expected


def drawn_of_line(users, middle, share, known, chance):
    """The pairs drawn of one region: all of a line, or those of two parts of it, the larger number first."""
    line = np.random.default_rng(0).permutation(users).astype(np.int32)
    one = np.array([0], dtype=np.int64)
    regions = dendrogram.Regions(line, one, one + middle, one + users, one, one)
    drawn = dendrogram.draw_pairs(regions, np.array([share]), known, chance)
    return line, list(map(tuple, drawn.tolist()))


@pytest.mark.parametrize(("middle", "count"), [(4, 20), (9, 36)])
def test_all_pairs_of_a_region_are_drawn_where_its_share_is_one_and_none_where_it_is_zero(middle, count):
    line, drawn = drawn_of_line(9, middle, 1.0, links(9), np.random.default_rng(1))
    left = set(line[:middle].tolist())
    expected = {
        (max(pair), min(pair))
        for pair in combinations(range(9), 2)
        if middle == 9 or len({pair[0] in left, pair[1] in left}) == 2
    }
    assert set(drawn) == expected and len(drawn) == count
    assert drawn_of_line(9, middle, 0.0, links(9), np.random.default_rng(2))[1] == []


def test_known_pairs_are_not_drawn():
    known = [(0, 1), (2, 4)]
    _, drawn = drawn_of_line(5, 5, 1.0, links(5, both=known), np.random.default_rng(1))
    assert set(drawn) == {(b, a) for a, b in combinations(range(5), 2) if (a, b) not in known}


@pytest.mark.statistical
@pytest.mark.parametrize(("middle", "pairs"), [(3, 9), (6, 15)])
def test_pairs_are_drawn_with_the_share_of_their_region(middle, pairs):
    """Chi-square over how often each pair is drawn in 20,000 draws."""
    draws, share, chance, drawn = 20_000, 0.3, np.random.default_rng(2), Counter()
    for _ in range(draws):
        drawn.update(drawn_of_line(6, middle, share, links(6), chance)[1])
    assert len(drawn) == pairs
    variance = draws * share * (1 - share)
    assert sum((count - draws * share) ** 2 / variance for count in drawn.values()) < chi2.isf(ALARM, pairs)
