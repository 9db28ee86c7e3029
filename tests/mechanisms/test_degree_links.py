"""Lists of neighbours with noisy degrees: who answers what, what a link costs, what is read back and what is refused."""

import math
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import NeighbourLists, Reports, mechanism
from graphveil.mechanisms.reports import row_pointers
from tests.mechanisms.support import LINKS, lists_of, of_graph, same_answers
from tests.together import together

EVERY_PAIR = list(combinations(range(5), 2))


def blink(epsilon, dims, **options):
    return mechanism("blink", epsilon=epsilon, dims=dims, **options)


def certain(**options):
    """Budgets so large that nearly nothing is changed."""
    return blink(40.0, 5, share=0.5, **options)


@pytest.mark.parametrize(
    ("ends", "lists"),
    [("one", [[], [0], [], [], [1, 2, 3]]), ("both", [[1], [0, 4], [4], [4], [1, 2, 3]])],
)
def test_one_end_or_both_answer_for_a_pair_and_everybody_tells_the_whole_degree(ends, lists):
    found = certain(ends=ends)
    reports = found.randomize(of_graph(LINKS, 5), SeededBits(0))
    assert lists_of(reports) == lists
    assert found.degrees(reports).tolist() == [1, 2, 1, 1, 3]


def test_nobody_is_asked_about_themselves_and_those_who_answered_are_read_alone():
    reports = blink(0.01, 40, ends="both").randomize(of_graph([], 40), SeededBits(1))
    assert all(user not in codes for user, codes in enumerate(lists_of(reports)))
    assert 700 < sum(map(len, lists_of(reports))) < 860  # nearly half of 40·39 pairs
    found = certain()
    reports = found.randomize(of_graph(LINKS, 5), SeededBits(0))
    some = reports.answered_by(np.array([False, True, True, False, True]))
    assert lists_of(some) == [[0], [], [1, 2, 3]]
    assert found.degrees(some).tolist() == [2, 1, 3]


@pytest.mark.parametrize("ends", ["one", "both"])
def test_a_list_s_order_repeats_and_oneself_do_not_matter(ends):
    first, *others = (
        NeighbourLists(np.array([7]), np.array([0, len(one)]), np.array(one))
        for one in ([5, 2, 8], [8, 2, 5, 2], [7, 2, 5, 8])
    )
    assert all(same_answers(blink(2.0, 9, ends=ends), first, other) for other in others)


@pytest.mark.parametrize("ends", ["one", "both"])
def test_words_used_do_not_depend_on_the_lists(ends):
    taken = set()
    for links in ([], LINKS, EVERY_PAIR):
        random_bits = CountedBits(6)
        blink(1.0, 5, ends=ends).randomize(of_graph(links, 5), random_bits)
        taken.add(random_bits.taken)
    assert len(taken) == 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.7])
@pytest.mark.parametrize("ends", ["one", "both"])
def test_answers_and_degrees_of_both_ends_add_up_to_the_claim(ends, share):
    found = blink(1.5, 50, ends=ends, share=share)
    pair, degree = found.channel.loss, found.counted.loss
    answered = 1 if ends == "one" else 2
    assert found.epsilon == pytest.approx(answered * pair.epsilon + 2 * degree.epsilon, rel=1e-12)
    assert 1.5 * (1 - 1e-9) < found.epsilon <= 1.5
    assert pair.epsilon == pytest.approx(1.5 * (1 - share) / answered)
    assert degree.epsilon == pytest.approx(1.5 * share / 2)


def test_one_end_is_wrong_about_a_pair_more_rarely_than_both_ends_together():
    """At (1-share)E the one answer is wrong with q; two at half of it disagree, or are both wrong, more often."""
    one, both = (blink(2.0, 50, ends=ends).flip for ends in ("one", "both"))
    # Where two answers disagree a coin decides: that is right half of the time.
    assert one < both**2 + both * (1 - both) == pytest.approx(both)
    marks = {blink(1.0, 5, **options).fingerprint for options in ({}, {"ends": "both"}, {"share": 0.2})}
    assert len(marks) == 3


def test_link_rr_has_the_same_interface_without_degrees():
    found = mechanism("link-rr", epsilon=20.0, dims=5)
    reports = found.randomize(of_graph(LINKS, 5), SeededBits(0))
    assert lists_of(reports) == [reports.row(user).codes.tolist() for user in range(5)]
    assert found.degrees(reports) is None
    assert (found.ends, found.degree_variance) == ("one", 0.0)
    assert found.kept(np.arange(5)).tolist() == [1.0] * 5
    assert blink(4.0, 300).degree_variance == blink(4.0, 300).counted.variance > 0


@pytest.mark.parametrize("ends", ["one", "both"])
def test_messages_give_reports_back(ends):
    found = blink(1.0, 200, ends=ends)
    reports = found.randomize(of_graph([(0, 150), (3, 4)], 200), SeededBits(1))
    assert reports.codes.dtype == np.uint16  # codes up to 399
    assert Reports.from_bytes(reports.to_bytes(), found) == reports
    assert Reports.from_json(reports.to_json(), found) == reports


@together(
    ("lengths", "codes"),
    [([1], [1]), ([2], [3, 4]), ([0], []), ([1, 0], [3]), ([2, 1], [0, 1, 4]), ([3], [0, 3, 5])],
)
def test_a_report_without_its_one_degree_is_refused(lengths, codes):
    reports = Reports(blink(1.0, 3), row_pointers(np.array(lengths)), None, np.array(codes, dtype=np.uint8))
    with pytest.raises(MessageError, match="end with one degree"):
        reports.check()


def test_outcomes_are_named_in_the_order_of_their_counts_and_decoded_by_the_lists_alone():
    found = blink(9.0, 3, share=0.5)
    likeliest = int(np.argmax(found.joint_counts([1, 0, 1])[0].astype(float)))
    assert found.describe_outcome(likeliest) == "links to 0, 2, degree 2"
    assert found.possible_reports().row(likeliest).codes.tolist() == [0, 2, 5]
    found = blink(1.0, 3)
    decoded = found.estimate(found.possible_reports()).dense()
    plain = mechanism("link-rr", epsilon=0.98, dims=3)
    assert np.allclose(decoded, np.tile(plain.estimate(plain.possible_reports()).dense(), (3, 1)))


@pytest.mark.statistical
def test_lists_and_degrees_are_drawn_as_their_tables_say():
    """100,000 users with one neighbour of four: z-tests of 4 answers and 5 degrees, false alarm below 1e-6; seed fixed."""
    found, draws = blink(2.0, 5, share=0.4), 100_000
    lists = NeighbourLists(np.full(draws, 4), np.arange(draws + 1), np.full(draws, 2))
    reports = found.randomize(lists, SeededBits(3))
    named_ = np.bincount(found.neighbours(reports)[1], minlength=4)
    q = found.channel.other / TOTAL
    expected = draws * np.array([q, q, 1 - q, q])
    assert (np.abs(named_ - expected) < 5.6 * np.sqrt(draws * q * (1 - q))).all()
    shares = np.array(found.counted.row(1)) / TOTAL
    seen = np.bincount(found.degrees(reports), minlength=5)
    assert (np.abs(seen - draws * shares) < 5.6 * np.sqrt(draws * shares * (1 - shares))).all()


@together(
    ("settings", "words"),
    [
        *(({"share": share}, "share must be") for share in (0, 1, -0.1, 1.5, float("nan"), "some")),
        *(({"name": "dprr", "share": share}, "share must be") for share in (0, 1, "some")),
        *(({"ends": ends}, "ends must be 'one'") for ends in ("none", "", 2, True)),
        *(({"dims": dims}, "dims must be") for dims in (1, (1 << 20) + 1)),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        mechanism(**{"name": "blink", "epsilon": 1.0, "dims": 5, **settings})


def test_a_hundred_thousand_users_are_served():
    found = blink(16.0, 100_000)
    lists = of_graph([(0, 99_999), (5, 99_999)], 100_000, owners=[99_999])
    reports = found.randomize(lists, SeededBits(0))
    reports.check()
    assert {0, 5} <= set(lists_of(reports)[0])
    assert found.loss.epsilon <= 16 and Fraction(found.loss.epsilon) > 16 * (1 - Fraction(1, 10**9))


# Neighbours sampled by a noisy number: as many as there are links, at no cost besides


def dprr(epsilon, dims, **options):
    return mechanism("dprr", epsilon=epsilon, dims=dims, **options)


def test_links_to_smaller_numbers_are_named_and_cost_one_answer_and_one_number():
    found = dprr(20.0, 5, share=0.5)
    reports = found.randomize(of_graph(LINKS, 5), SeededBits(0))
    assert lists_of(reports) == [[], [0], [], [], [1, 2, 3]]
    assert found.degrees(reports).tolist() == [0, 1, 0, 0, 3]
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


@pytest.mark.parametrize("build", [blink, partial(blink, ends="both"), dprr])
def test_the_control_does_not_look_at_the_lists(build):
    control = build(1.0, 30).blind()
    assert control.loss.terms == () and control.claim.epsilon == 0
    assert same_answers(control, of_graph([], 30), of_graph(list(combinations(range(30), 2)), 30))


def test_words_and_codes_grow_with_what_is_reported():
    """20,000 users of 10 links each at ε = 2, 2·10^8 pairs: link-rr would report a quarter of 10^8."""
    users, random_bits = 20_000, CountedBits(2)
    pairs = np.random.default_rng(0).integers(0, users, (10 * users // 2, 2))
    reports = dprr(2.0, users).randomize(of_graph(pairs, users), random_bits)
    # About as many as the noisy numbers say, clipped at 0: some 5 links and the noise's mean size.
    assert reports.codes.size < 20 * users
    assert random_bits.taken < 300 * users
