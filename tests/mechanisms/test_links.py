"""Links by randomized response: every pair once, exact draws, words that do not depend on the lists."""

from __future__ import annotations

import zlib
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
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
from tests.mechanisms.support import exact_mean, largest_ratio, loss_ratio
from tests.together import together


def of_graph(links, users, owners=None):
    """The lists of all users, or of some, both ends of a link on each other's."""
    everyone = [
        [b for a, b in [*links, *(pair[::-1] for pair in links)] if a == user] for user in range(users)
    ]
    owners = list(range(users)) if owners is None else owners
    lists = [everyone[owner] for owner in owners]
    return NeighbourLists(
        np.array(owners),
        row_pointers(np.array([len(one) for one in lists])),
        np.array([user for one in lists for user in one], dtype=np.int32),
    )


def named(reports):
    return [reports.row(user).codes.tolist() for user in range(reports.users)]


LINKS = [(0, 1), (1, 4), (2, 4), (3, 4)]


def test_of_two_users_the_one_with_the_larger_number_answers():
    reports = mechanism("link-rr", epsilon=20.0, dims=5).randomize(of_graph(LINKS, 5), SeededBits(0))
    assert named(reports) == [[], [0], [], [], [1, 2, 3]]


def test_nothing_is_drawn_for_pairs_that_others_answer():
    reports = mechanism("link-rr", epsilon=0.01, dims=40).randomize(of_graph([], 40), SeededBits(1))
    assert all(all(code < user for code in codes) for user, codes in enumerate(named(reports)))
    assert 300 < reports.codes.size < 480  # nearly half of 780 pairs


def test_some_users_answer_for_themselves_alone():
    found = mechanism("link-rr", epsilon=20.0, dims=5)
    assert named(found.randomize(of_graph(LINKS, 5, [4, 1]), SeededBits(0))) == [[1, 2, 3], [0]]
    assert named(found.randomize(of_graph(LINKS, 5).of(np.array([4, 1])), SeededBits(0))) == [[1, 2, 3], [0]]


def test_a_list_s_order_and_repeats_do_not_matter():
    found = mechanism("link-rr", epsilon=1.0, dims=9)
    lists = [
        NeighbourLists(np.array([8]), np.array([0, len(one)]), np.array(one)) for one in ([5, 2], [2, 5, 2])
    ]
    assert found.randomize(lists[0], SeededBits(3)) == found.randomize(lists[1], SeededBits(3))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_lists_that_differ_in_one_link_are_told_apart_by_epsilon_exactly(epsilon):
    found = mechanism("link-rr", epsilon=epsilon, dims=3)
    lists = [np.array([number >> bit & 1 for bit in range(3)]) for number in range(8)]
    for one, other in combinations(lists, 2):
        apart = int((one != other).sum())
        assert found.compares(one, other) == (apart == 1)
        assert largest_ratio(found, [one, other]) == loss_ratio(found) ** apart


def test_the_loss_is_that_of_one_link_however_many_users_there_are():
    few, many = (mechanism("link-rr", epsilon=2.0, dims=dims) for dims in (1, 10**6))
    assert few.loss == many.loss
    assert many.holds and 2 * (1 - 1e-9) < many.epsilon <= 2


@pytest.mark.parametrize("row", [[0, 0, 0], [1, 0, 1], [1, 1, 1]])
def test_the_mean_of_an_estimate_is_the_list(row):
    found = mechanism("link-rr", epsilon=0.7, dims=3)
    counts, total = found.joint_counts(row)
    decoded = found.possible_reports().estimate().dense()
    shares = np.array([int(count) / total for count in counts])
    assert shares @ decoded == pytest.approx(row, abs=1e-9)


def test_outcomes_are_named_in_the_order_of_their_counts():
    found = mechanism("link-rr", epsilon=3.0, dims=3)
    likeliest = int(np.argmax(found.joint_counts([1, 0, 1])[0].astype(float)))
    assert found.describe_outcome(likeliest) == "links to 0, 2"
    assert found.possible_reports().row(likeliest).codes.tolist() == [0, 2]
    assert found.describe_outcome(0) == "no links"


# The draw


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_pair_is_answered_wrongly_where_its_number_is_below_q(epsilon):
    """The first word decides about the first pair: V below q changes it, V above q leaves it."""
    found = mechanism("link-rr", epsilon=epsilon, dims=1)
    first = found.channel.other << 2
    for word, changed in ((first - 1, True), (first + 1, False)):
        # A further word is taken where the rest of V decides, and another gap where pairs are left.
        words = [word, *[1 << 63] * 8]
        assert (named(found.randomize([[0]], GivenWords(words))) == [[0]]) == changed
        assert (named(found.randomize([[1]], GivenWords(words))) == [[]]) == changed


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 12), st.integers(0, 10**6))
def test_words_used_do_not_depend_on_the_lists(epsilon, seed):
    found = mechanism("link-rr", epsilon=epsilon, dims=70)
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
    found = mechanism("link-rr", epsilon=epsilon, dims=1000)
    q, size = found.channel.other / TOTAL, 300_000
    for held, expected in ((0, q), (1, 1 - q)):
        reports = found.randomize(np.full((300, 1000), held), SeededBits(8))
        assert abs(reports.codes.size - size * expected) < 5 * np.sqrt(size * q * (1 - q)) + 1


def test_blocks_change_nothing_but_which_words_are_used(monkeypatch):
    found, lists = mechanism("link-rr", epsilon=20.0, dims=60), of_graph([(i, i + 7) for i in range(50)], 60)
    whole = found.randomize(lists, SeededBits(2))
    monkeypatch.setattr(skipping, "BLOCK", 16)
    assert found.randomize(lists, SeededBits(2)) == whole
    half = mechanism("link-rr", epsilon=0.01, dims=60).randomize(lists, SeededBits(2))
    half.check()
    assert 700 < half.codes.size < 1070  # nearly half of 1770 pairs


def test_the_control_does_not_look_at_the_lists():
    control = mechanism("link-rr", epsilon=1.0, dims=50).blind()
    answers = [control.randomize(np.full((40, 50), held), SeededBits(1)) for held in (0, 1)]
    assert answers[0] == answers[1]
    assert 850 < answers[0].codes.size < 1150


# What is refused, and what is answered as something else


@pytest.mark.parametrize("private", [np.zeros(3), np.zeros((2, 4)), [[0, 1, 0, 1]], sp.csr_array((2, 4))])
def test_a_wrong_shape_is_refused(private):
    found = mechanism("link-rr", epsilon=1.0, dims=3)
    for attempt in (found.randomize, found.count):
        with pytest.raises(InputError, match="users x 3 values, got the shape"):
            attempt(private)


@together(
    ("value", "link"),
    [(0.5, 1), (7, 1), (np.inf, 1), (True, 1), (-1, 0), (np.nan, 0), (-np.inf, 0), (None, 0), ("a", 0)],
)
def test_whatever_is_above_zero_is_a_link(value, link):
    found = mechanism("link-rr", epsilon=2.0, dims=3)
    held, like = [[0.0, value, 1.0]] * 30, [[0, link, 1]] * 30
    assert found.randomize(held, SeededBits(6)) == found.randomize(like, SeededBits(6))


def test_sparse_arrays_are_answered_like_dense_ones():
    found, links = mechanism("link-rr", epsilon=1.0, dims=20), np.random.default_rng(0).random((9, 20)) < 0.3
    dense, sparse = (found.randomize(rows, SeededBits(1)) for rows in (links, sp.csr_array(links)))
    assert dense == sparse


@pytest.mark.parametrize("nobody", [-1, 5, 10**9, -(2**63), 2**63 - 1])
def test_numbers_of_nobody_are_passed_over(nobody):
    found = mechanism("link-rr", epsilon=2.0, dims=5)
    held, like = (
        NeighbourLists(np.array([3, 4, 2]), row_pointers(np.array([1, len(one), 1])), np.array([0, *one, 1]))
        for one in ([nobody, 1], [1])
    )
    assert found.randomize(held, SeededBits(6)) == found.randomize(like, SeededBits(6))


def test_users_are_counted_by_their_lists():
    found = mechanism("link-rr", epsilon=1.0, dims=5)
    assert found.count(of_graph(LINKS, 5)) == 5
    assert found.count(of_graph(LINKS, 5, [4, 1])) == 2
    assert found.count(of_graph([], 5)) == 5
    assert found.altered(of_graph(LINKS, 5)) == 0


def test_too_many_users_are_not_enumerated():
    found = mechanism("link-rr", epsilon=1.0, dims=40)
    for attempt in (found.possible_reports, lambda: found.joint_counts(np.zeros(40))):
        with pytest.raises(InputError, match="too many different reports to enumerate"):
            attempt()


# Messages


def test_empty_reports_travel_too():
    found = mechanism("link-rr", epsilon=20.0, dims=300)
    reports = found.randomize(np.zeros((5, 300)), SeededBits(0))
    assert reports.codes.size == 0 and reports.codes.dtype == np.uint16
    assert Reports.from_bytes(reports.to_bytes(), found) == reports
    assert Reports.from_json(reports.to_json(), found) == reports


@pytest.mark.parametrize("codes", [[2, 1], [1, 1]])
def test_a_list_that_is_not_ascending_is_refused(codes):
    found = mechanism("link-rr", epsilon=1.0, dims=3)
    reports = Reports(found, np.array([0, 0, 2]), None, np.array(codes, dtype=np.uint8))
    with pytest.raises(MessageError, match="ascending and different"):
        Reports.from_bytes(reports.to_bytes(), found)


def test_lists_of_two_users_may_start_again():
    found = mechanism("link-rr", epsilon=1.0, dims=3)
    Reports(found, np.array([0, 0, 2, 2, 3, 3]), None, np.array([1, 2, 0], dtype=np.uint8)).check()


def test_a_message_that_leaves_the_lengths_out_is_refused():
    """Else a header could promise any number of users without a report."""
    found = mechanism("link-rr", epsilon=1.0, dims=3)
    message = HEADER.pack(b"GVRP", 2, EVEN, 1, 0, 10**15, 0, 3, 0, bytes.fromhex(found.fingerprint))
    with pytest.raises(MessageError, match="must say how long each report is"):
        Reports.from_bytes(message + CHECKSUM.pack(zlib.crc32(message)), found)


def test_unbiased_estimates_of_labels_and_links_agree():
    """Randomized response over two symbols is the same thing as a label of two classes."""
    link, label = mechanism("link-rr", epsilon=1.3, dims=1), mechanism("krr", epsilon=1.3, classes=2)
    assert exact_mean(label, 1)[1] == pytest.approx(1.0)
    yes = link.possible_reports().estimate().dense()[1, 0]
    assert yes == pytest.approx(label.possible_reports().estimate().dense()[1, 1])


@together("nobody", [-1, 9, 0.5, np.nan, np.inf, 1e300, None, "one"])
def test_a_neighbour_that_is_no_user_is_passed_over_and_counted_for_the_owner(nobody):
    neighbours = np.array([0, nobody], dtype=object)
    lists = NeighbourLists(np.array([3]), np.array([0, 2]), neighbours)
    link = mechanism("link-rr", epsilon=20.0, dims=4)
    assert link.randomize(lists, SeededBits(0)).codes.tolist() == [0]
    assert link.altered(lists) == 1
    assert link.altered(NeighbourLists(np.array([3]), np.array([0, 1]), np.array([0]))) == 0
