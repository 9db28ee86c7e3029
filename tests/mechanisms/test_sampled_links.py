"""Neighbours sampled by a noisy number: as many as there are links, at no cost besides, in time that grows with them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import NeighbourLists, mechanism
from tests.mechanisms.support import LINKS, lists_of, of_graph, same_answers


def dprr(epsilon, dims, **options):
    return mechanism("dprr", epsilon=epsilon, dims=dims, **options)


def test_links_to_smaller_numbers_are_named_and_counted():
    found = dprr(20.0, 5, share=0.5)
    reports = found.randomize(of_graph(LINKS, 5), SeededBits(0))
    assert lists_of(reports) == [[], [0], [], [], [1, 2, 3]]
    assert found.degrees(reports).tolist() == [0, 1, 0, 0, 3]


def test_a_link_costs_one_answer_and_one_number():
    found = dprr(1.5, 50, share=0.2)
    assert found.epsilon == pytest.approx(found.channel.epsilon + found.counted.epsilon, rel=1e-12)
    assert found.counted.epsilon == pytest.approx(0.3)
    assert 1.5 * (1 - 1e-9) < found.epsilon <= 1.5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 16.0])
def test_sampling_never_tells_more_than_the_answer(epsilon):
    """Named or not, whatever the noisy number: the ratio of link and no link is at most that of randomized response."""
    found = dprr(epsilon, 2000)
    limit = found.channel.worst.ratio
    for asked, degree in product((1, 2, 3, 50, 1999), (0, 1, 2, 24, 25, 700, 1999)):
        mistake, right = found.named_counts(asked, degree)
        assert 0 <= mistake <= right < TOTAL
        if mistake:
            assert Fraction(right, mistake) <= limit
        assert Fraction(TOTAL - mistake, TOTAL - right) <= limit


@pytest.mark.parametrize(("asked", "degree"), [(1000, 3), (1000, 40), (50, 24), (7, 1)])
def test_as_many_are_named_as_the_noisy_number_says(asked, degree):
    found = dprr(2.0, 1001)
    mistake, right = (count / TOTAL for count in found.named_counts(asked, degree))
    assert degree * right + (asked - degree) * mistake == pytest.approx(degree, rel=1e-12)


def test_every_yes_is_named_where_most_pairs_are_links_and_nothing_beside_a_number_of_0():
    found = dprr(2.0, 11)
    for asked, degree in ((10, 5), (10, 9), (1, 1), (0, 0)):
        assert found.named_counts(asked, degree) == (found.channel.other, TOTAL - found.channel.other)
    assert found.named_counts(10, 0) == (0, 0)


def test_the_share_that_is_kept_follows_from_number_and_user():
    found = dprr(2.0, 1000)
    q, degrees, users = found.flip, np.array([0, 3, 3, 900]), np.array([999, 999, 20, 999])
    expected = [0.0, *(3 / (3 * (1 - 2 * q) + asked * q) for asked in (999, 20)), 1.0]
    assert found.kept(degrees, users) == pytest.approx(expected, rel=1e-9)
    assert found.kept(np.array([1, 1, 1])).tolist() == found.kept(np.array([1, 1, 1]), np.arange(3)).tolist()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_pairs_are_named_as_their_tables_say_given_the_number(epsilon):
    """60,000 users with 3 neighbours of 40, by the number they report: z-tests, false alarm below 1e-6; seed fixed."""
    found, draws, near = dprr(epsilon, 41, share=0.5), 60_000, [0, 7, 39]
    lists = NeighbourLists(np.full(draws, 40), 3 * np.arange(draws + 1), np.tile(near, draws))
    reports = found.randomize(lists, SeededBits(4))
    reports.check()
    degrees, (pointers, named) = found.degrees(reports), found.neighbours(reports)
    owners = np.repeat(degrees, np.diff(pointers))
    for degree in np.unique(degrees):
        users, counts = (degrees == degree).sum(), np.bincount(named[owners == degree], minlength=40)
        mistake, right = (count / TOTAL for count in found.named_counts(40, int(degree)))
        links = counts[near].sum()
        for seen, share, size in ((links, right, 3 * users), (counts.sum() - links, mistake, 37 * users)):
            # Rare ones are Poisson's: 15 more are as unlikely.
            assert abs(seen - size * share) < 6 * math.sqrt(size * share * (1 - share)) + 15


def test_words_used_follow_from_the_reported_number_and_not_from_the_list():
    found, taken = dprr(1.0, 30), {}
    for seed, held in product(range(150), ([], [3], list(range(29)))):
        random_bits = CountedBits(seed)
        lists = NeighbourLists(np.array([29]), np.array([0, len(held)]), np.array(held, dtype=np.int64))
        degree = int(found.degrees(found.randomize(lists, random_bits))[0])
        taken.setdefault((seed, degree), []).append(random_bits.taken)
    assert sum(len(counts) > 1 for counts in taken.values()) > 30
    assert all(len(set(counts)) == 1 for counts in taken.values())


def test_who_has_far_more_links_than_the_number_says_is_answered_too():
    """Rarer than one user in 10^9: words for the links beyond are drawn then."""
    found = dprr(20.0, 200, share=0.5)
    assert found.usual_noise < 5
    pairs = found._pairs(lists := of_graph([(i, 199) for i in range(150)], 200), found._links(lists))
    counts, codes = found._named_beside(np.full(200, 3), pairs, SeededBits(0))
    assert counts[199] == len(codes[-counts[199] :]) > 0


def test_the_control_does_not_look_at_the_lists():
    full = of_graph(list(combinations(range(30), 2)), 30)
    assert same_answers(dprr(1.0, 30).blind(), of_graph([], 30), full)


def test_words_and_codes_grow_with_what_is_reported():
    """20,000 users of 10 links each at ε = 2, 2·10^8 pairs: link-rr would report a quarter of 10^8."""
    users, random_bits = 20_000, CountedBits(2)
    pairs = np.random.default_rng(0).integers(0, users, (10 * users // 2, 2))
    reports = dprr(2.0, users).randomize(of_graph(pairs, users), random_bits)
    # About as many as the noisy numbers say, clipped at 0: some 5 links and the noise's mean size.
    assert reports.codes.size < 20 * users
    assert random_bits.taken < 300 * users
