"""LapGraph: what a trusted curator publishes, how likely each graph is, and what it takes to draw one."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from graphveil.audit.reports import CountedBits
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import LinkMechanism, NeighbourLists, entry, mechanism, names
from graphveil.mechanisms.exact_sampling import noisy_chances
from graphveil.mechanisms.lapgraph import MAX_USERS
from graphveil.mechanisms.reports import Reports
from tests.mechanisms.support import of_graph, published, small
from tests.together import together

PAIRS = [(a, b) for a in range(4) for b in range(a)]


def lapgraph(epsilon, dims, **options):
    return mechanism("lapgraph", epsilon=epsilon, dims=dims, **options)


def drawn_pairs(found, links, seed=0):
    return published(found.randomize(of_graph(links, found.size), SeededBits(seed))).tolist()


def sparse_graph(users, links, seed=0):
    """Different random pairs, the larger number first."""
    drawn = np.random.default_rng(seed).integers(0, users, (links, 2))
    drawn = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)[:, ::-1]
    return np.unique(drawn, axis=0)


def test_with_a_large_budget_the_graph_itself_is_published_and_read_as_it_is():
    assert drawn_pairs(lapgraph(22.0, 4), [(1, 0), (3, 0), (3, 2)]) == [[1, 0], [3, 0], [3, 2]]
    assert drawn_pairs(lapgraph(1.0, 1), []) == []
    # As for link-rr: user 1 says that there is a link to 0, user 0 says nothing; and user 2 says nothing, user 0 does.
    lists = NeighbourLists(np.arange(3), np.array([0, 1, 2, 2]), np.array([2, 0]))
    assert published(lapgraph(22.0, 3).randomize(lists, SeededBits(0))).tolist() == [[1, 0]]
    found = lapgraph(22.0, 4)
    estimate = found.randomize(of_graph([(2, 0)], 4), SeededBits(0)).estimate()
    expected = np.zeros((4, 4))
    expected[2, 0] = 1
    assert np.array_equal(estimate.dense(), expected) and not found.unbiased
    assert isinstance(found, LinkMechanism)


def test_a_report_names_smaller_numbers_in_order_and_messages_give_it_back():
    reports = lapgraph(0.5, 30).randomize(of_graph(sparse_graph(30, 200), 30), SeededBits(1))
    pairs = published(reports)
    assert (pairs[:, 1] < pairs[:, 0]).all() and len(np.unique(pairs, axis=0)) == len(pairs) > 0
    assert all((np.diff(reports.row(user).codes.astype(int)) > 0).all() for user in range(30))
    found = lapgraph(2.0, 300)
    reports = found.randomize(of_graph(sparse_graph(300, 900), 300), SeededBits(2))
    assert Reports.from_bytes(reports.to_bytes(), found) == reports


def test_the_number_stays_between_none_and_all_pairs_and_the_control_does_not_look():
    sizes = {len(drawn_pairs(lapgraph(0.01, 4), [(1, 0)], seed)) for seed in range(100)}
    assert {0, 6} <= sizes <= set(range(7))
    control = lapgraph(1.0, 40).blind()
    assert drawn_pairs(control, []) == drawn_pairs(control, sparse_graph(40, 300))
    assert control.loss.terms == ()


def noisy_cell(bit, ratio, reach):
    """The chances of a bit plus two-sided geometric noise, cut to 1-reach..reach: the ends get all beyond them."""
    chances = {v: (1 - ratio) / (1 + ratio) * ratio ** abs(v - bit) for v in range(2 - reach, reach)}
    ends = {v: ratio ** abs(v - bit) / (1 + ratio) for v in (1 - reach, reach)}
    assert sum(chances.values()) + sum(ends.values()) == 1
    return {**chances, **ends}


def by_noisy_cells(found, row, reach):
    """The chance of every published set, by adding noise to every cell and taking the largest; ties in all ways alike."""
    noise = [noisy_cell(bit, found.wrong / (1 - found.wrong), reach) for bit in row]
    numbers, cells = noisy_chances(sum(row), found.size, found.ratio), range(len(row))
    chances = [Fraction(0)] * (1 << len(row))
    for values in product(*noise):
        chance = math.prod(noise[cell][values[cell]] for cell in cells)
        for number, likely in enumerate(numbers):
            largest = [
                chosen
                for chosen in combinations(cells, number)
                if min((values[cell] for cell in chosen), default=math.inf)
                >= max((values[cell] for cell in cells if cell not in chosen), default=-math.inf)
            ]
            for chosen in largest:
                chances[sum(1 << cell for cell in chosen)] += chance * likely / len(largest)
    return chances


@pytest.mark.parametrize("row", [(0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)], ids=str)
@together("reach", [1, 2, 3])
def test_the_largest_of_noisy_cells_are_published(row, reach):
    """However far noisy cells reach, they have the same order as the bits that are drawn, exactly."""
    found = lapgraph(1.5, 3)
    counts, total = found.joint_counts(row)
    assert [Fraction(count, total) for count in counts.tolist()] == by_noisy_cells(found, row, reach)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("links", [[], [1, 4, 5], list(range(6))], ids=str)
def test_graphs_of_four_users_come_as_often_as_enumerated(links, epsilon):
    """χ² of 4,000 graphs over their kinds, rare ones together; false alarm 1e-6 each, seed fixed."""
    found, row = lapgraph(epsilon, 4), np.isin(np.arange(6), links).astype(int)
    counts, total = lapgraph(epsilon, 6).joint_counts(row)
    lists, random_bits = of_graph([PAIRS[cell] for cell in links], 4), SeededBits(6)
    drawn = []
    for _ in range(4000):
        pairs = published(found.randomize(lists, random_bits))
        drawn.append(int((1 << (pairs[:, 0] * (pairs[:, 0] - 1) // 2 + pairs[:, 1])).sum()))
    expected = np.array([float(Fraction(count, total)) for count in counts.tolist()]) * len(drawn)
    seen, rare = np.bincount(drawn, minlength=64), expected < 10
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    assert stats.chisquare(seen[kept], expected[kept]).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [2.0, 8.0, 12.0])
def test_of_a_large_graph_as_many_links_are_kept_as_randomized_response_leaves(epsilon):
    """z-test over 300 graphs of 600 users, the expectation by simulating bits of all pairs; false alarm below 1e-6."""
    users, links = 600, 400
    pairs = sparse_graph(users, links)
    found, lists, random_bits = lapgraph(epsilon, users), of_graph(pairs, users), SeededBits(7)
    true = {tuple(pair) for pair in pairs.tolist()}
    kept = [
        sum(tuple(pair) in true for pair in published(found.randomize(lists, random_bits)).tolist())
        for _ in range(300)
    ]
    chance, q = np.random.default_rng(8), float(found.wrong)
    cells, ratio = users * (users - 1) // 2, float(found.ratio)
    sizes = len(pairs) + chance.geometric(1 - ratio, 20_000) - chance.geometric(1 - ratio, 20_000)
    right = chance.binomial(len(pairs), 1 - q, 20_000)
    false = chance.binomial(cells - len(pairs), q, 20_000)
    first = np.minimum(np.maximum(sizes, 0), right + false)
    expected = chance.hypergeometric(right, false, first)
    beyond = np.maximum(sizes, 0) - first
    expected = expected + chance.hypergeometric(len(pairs) - right, cells - len(pairs) - false, beyond)
    spread = np.sqrt(np.var(kept) / 300 + expected.var() / 20_000)
    assert abs(np.mean(kept) - expected.mean()) < 5 * spread + 1e-9


@pytest.mark.statistical
def test_the_number_of_links_has_two_sided_geometric_noise():
    """χ² of 20,000 graphs of 40 cells, far from both ends; false alarm 1e-6, seed fixed."""
    found = lapgraph(5.0, 40)
    rows = np.tile(np.arange(40) < 20, (20_000, 1))
    apart = found.randomize(rows, SeededBits(9)).lengths - 20
    ratio, reach = float(found.ratio), 8
    shares = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))
    shares[[0, -1]] = ratio**reach / (1 + ratio)
    seen = np.bincount(np.clip(apart, -reach, reach) + reach, minlength=2 * reach + 1)
    assert stats.chisquare(seen, shares * apart.size).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 4.0, 20.0])
def test_words_grow_with_the_links_and_not_with_the_pairs(epsilon):
    """100,000 users have 5·10^9 pairs."""
    pairs, random_bits = sparse_graph(100_000, 50_000), CountedBits(10)
    reports = lapgraph(epsilon, 100_000).randomize(of_graph(pairs, 100_000), random_bits)
    assert abs(reports.codes.size - len(pairs)) < 30 / (0.1 * epsilon)
    assert random_bits.taken < 20 * len(pairs)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_number_and_cells_share_the_budget(share):
    found = lapgraph(2.0, 9, share=share)
    assert found.counting.claim.epsilon == 2.0 * share
    assert found.channel.claim.epsilon == pytest.approx(2.0 * (1 - share))
    assert found.holds and found.claim.epsilon == 2.0
    # The loss is that of the number and one cell.
    both = found.counting.loss.bounds()[0] + found.channel.loss.bounds()[0]
    assert float(both) == pytest.approx(found.epsilon, rel=1e-14)
    assert found.fingerprint != lapgraph(2.0, 9, share=share / 2).fingerprint


def test_what_leaves_nothing_for_one_of_both_or_is_too_much_is_refused():
    for share in (0, 1, -0.5, math.nan, "much"):
        with pytest.raises(InputError, match="share must be"):
            lapgraph(1.0, 9, share=share)
    with pytest.raises(InputError, match=f"at most {MAX_USERS} users"):
        lapgraph(1.0, MAX_USERS + 1)
    with pytest.raises(InputError, match="too many different graphs"):
        lapgraph(1.0, 13).joint_counts(np.zeros(13))
    # A curator has everybody's list.
    none = np.zeros(0, dtype=int)
    for owners in ([0, 1], [0, 2, 1], [1, 2, 3]):
        lists = NeighbourLists(np.array(owners), np.zeros(len(owners) + 1, dtype=int), none)
        with pytest.raises(InputError, match="lists of all 3 users"):
            lapgraph(1.0, 3).randomize(lists)


def test_every_mechanism_is_registered_with_the_trust_that_it_takes():
    for name in names():
        assert small(name).trust == entry(name).trust, name
    assert "trusted curator" in repr(lapgraph(1.0, 3))
