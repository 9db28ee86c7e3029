"""Links by randomized response: every pair once, exact draws, words that do not depend on the lists."""

import zlib
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import NeighbourLists, Reports, mechanism
from graphveil.mechanisms import exact_sampling as skipping
from graphveil.mechanisms.reports import CHECKSUM, EVEN, HEADER, row_pointers
from tests.channels.reference import GivenWords
from tests.mechanisms.support import (
    LINKS,
    exact_mean,
    largest_ratio,
    lists_of,
    loss_ratio,
    of_graph,
    same_answers,
)
from tests.together import together


def link_rr(epsilon, dims):
    return mechanism("link-rr", epsilon=epsilon, dims=dims)


def test_of_two_users_the_one_with_the_larger_number_answers():
    found = link_rr(20.0, 5)
    assert lists_of(found.randomize(of_graph(LINKS, 5), SeededBits(0))) == [[], [0], [], [], [1, 2, 3]]
    # Some users answer for themselves alone.
    some = of_graph(LINKS, 5, [4, 1])
    assert lists_of(found.randomize(some, SeededBits(0))) == [[1, 2, 3], [0]]
    assert (found.count(some), found.count(of_graph([], 5)), found.altered(of_graph(LINKS, 5))) == (2, 5, 0)
    reports = link_rr(0.01, 40).randomize(of_graph([], 40), SeededBits(1))
    assert all(all(code < user for code in codes) for user, codes in enumerate(lists_of(reports)))
    assert 300 < reports.codes.size < 480  # nearly half of 780 pairs


def test_a_list_s_order_and_repeats_do_not_matter():
    one, other = (
        NeighbourLists(np.array([8]), np.array([0, len(held)]), np.array(held))
        for held in ([5, 2], [2, 5, 2])
    )
    assert same_answers(link_rr(1.0, 9), one, other)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_lists_that_differ_in_one_link_are_told_apart_by_epsilon_exactly(epsilon):
    found = link_rr(epsilon, 3)
    lists = [np.array([number >> bit & 1 for bit in range(3)]) for number in range(8)]
    for one, other in combinations(lists, 2):
        apart = int((one != other).sum())
        assert found.compares(one, other) == (apart == 1)
        assert largest_ratio(found, [one, other]) == loss_ratio(found) ** apart


def test_the_loss_is_that_of_one_link_and_the_control_s_is_none():
    few, many = (link_rr(2.0, dims) for dims in (1, 10**6))
    assert few.loss == many.loss
    assert many.holds and 2 * (1 - 1e-9) < many.epsilon <= 2
    control = link_rr(1.0, 50).blind()
    none, all_of_them = (np.full((40, 50), held) for held in (0, 1))
    assert same_answers(control, none, all_of_them)
    assert 850 < control.randomize(none, SeededBits(1)).codes.size < 1150


@pytest.mark.parametrize("row", [[0, 0, 0], [1, 0, 1], [1, 1, 1]])
def test_the_mean_of_an_estimate_is_the_list(row):
    assert exact_mean(link_rr(0.7, 3), row) == pytest.approx(row, abs=1e-9)


def test_outcomes_are_named_in_the_order_of_their_counts_where_they_are_few():
    found = link_rr(3.0, 3)
    likeliest = int(np.argmax(found.joint_counts([1, 0, 1])[0].astype(float)))
    assert found.describe_outcome(likeliest) == "links to 0, 2"
    assert found.possible_reports().row(likeliest).codes.tolist() == [0, 2]
    assert found.describe_outcome(0) == "no links"
    found = link_rr(1.0, 40)
    for attempt in (found.possible_reports, lambda: found.joint_counts(np.zeros(40))):
        with pytest.raises(InputError, match="too many different reports to enumerate"):
            attempt()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_pair_is_answered_wrongly_where_its_number_is_below_q(epsilon):
    """The first word decides about the first pair: V below q changes it, V above q leaves it."""
    found = link_rr(epsilon, 1)
    first = found.channel.other << 2
    for word, changed in ((first - 1, True), (first + 1, False)):
        # A further word is taken where the rest of V decides, and another gap where pairs are left.
        words = [word, *[1 << 63] * 8]
        assert (lists_of(found.randomize([[0]], GivenWords(words))) == [[0]]) == changed
        assert (lists_of(found.randomize([[1]], GivenWords(words))) == [[]]) == changed


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 12), st.integers(0, 10**6))
def test_words_used_do_not_depend_on_the_lists(epsilon, seed):
    found = link_rr(epsilon, 70)
    taken, chance = set(), np.random.default_rng(seed)
    for rows in (np.zeros((9, 70)), np.ones((9, 70)), chance.integers(0, 2, (9, 70))):
        random_bits = CountedBits(seed)
        found.randomize(rows, random_bits)
        taken.add(random_bits.taken)
    assert len(taken) == 1


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 7.0])
def test_links_are_kept_and_made_with_the_exact_probability(epsilon):
    """z-test of 300,000 answers each way; false alarm below 1e-6 each, seed fixed."""
    found = link_rr(epsilon, 1000)
    q, size = found.channel.other / TOTAL, 300_000
    for held, expected in ((0, q), (1, 1 - q)):
        reports = found.randomize(np.full((300, 1000), held), SeededBits(8))
        assert abs(reports.codes.size - size * expected) < 5 * np.sqrt(size * q * (1 - q)) + 1


def test_blocks_change_nothing_but_which_words_are_used(monkeypatch):
    found, lists = link_rr(20.0, 60), of_graph([(i, i + 7) for i in range(50)], 60)
    whole = found.randomize(lists, SeededBits(2))
    monkeypatch.setattr(skipping, "BLOCK", 16)
    assert found.randomize(lists, SeededBits(2)) == whole
    half = link_rr(0.01, 60).randomize(lists, SeededBits(2))
    half.check()
    assert 700 < half.codes.size < 1070  # nearly half of 1770 pairs


@together(
    ("value", "link"),
    [(0.5, 1), (7, 1), (np.inf, 1), (True, 1), (-1, 0), (np.nan, 0), (-np.inf, 0), (None, 0), ("a", 0)],
)
def test_whatever_is_above_zero_is_a_link(value, link):
    assert same_answers(link_rr(2.0, 3), [[0.0, value, 1.0]] * 30, [[0, link, 1]] * 30)


@together("nobody", [-1, 5, 10**9, -(2**63), 2**63 - 1])
def test_numbers_of_nobody_are_passed_over(nobody):
    held, like = (
        NeighbourLists(np.array([3, 4, 2]), row_pointers(np.array([1, len(one), 1])), np.array([0, *one, 1]))
        for one in ([nobody, 1], [1])
    )
    assert same_answers(link_rr(2.0, 5), held, like)


def test_a_message_says_lengths_and_lists_ascend():
    """Else a header could promise any number of users without a report."""
    found = link_rr(1.0, 3)
    message = HEADER.pack(b"GVRP", 2, EVEN, 1, 0, 10**15, 0, 3, 0, bytes.fromhex(found.fingerprint))
    with pytest.raises(MessageError, match="must say how long each report is"):
        Reports.from_bytes(message + CHECKSUM.pack(zlib.crc32(message)), found)
    found = link_rr(1.0, 3)
    Reports(found, np.array([0, 0, 2, 2, 3, 3]), None, np.array([1, 2, 0], dtype=np.uint8)).check()
    for codes in ([2, 1], [1, 1]):
        reports = Reports(found, np.array([0, 0, 2]), None, np.array(codes, dtype=np.uint8))
        with pytest.raises(MessageError, match="ascending and different"):
            Reports.from_bytes(reports.to_bytes(), found)
    found = link_rr(20.0, 300)
    reports = found.randomize(np.zeros((5, 300)), SeededBits(0))
    assert reports.codes.size == 0 and reports.codes.dtype == np.uint16
    assert Reports.from_bytes(reports.to_bytes(), found) == reports
    assert Reports.from_json(reports.to_json(), found) == reports


@together("nobody", [-1, 9, 0.5, np.nan, np.inf, 1e300, None, "one"])
def test_a_neighbour_that_is_no_user_is_passed_over_and_counted_for_the_owner(nobody):
    neighbours = np.array([0, nobody], dtype=object)
    lists = NeighbourLists(np.array([3]), np.array([0, 2]), neighbours)
    link = link_rr(20.0, 4)
    assert link.randomize(lists, SeededBits(0)).codes.tolist() == [0]
    assert link.altered(lists) == 1
    assert link.altered(NeighbourLists(np.array([3]), np.array([0, 1]), np.array([0]))) == 0
