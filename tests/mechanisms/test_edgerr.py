"""EDGERR and privHRG: what a curator publishes of a graph whose private links are drawn anew, and what that costs a link."""

import math
from decimal import Context, Decimal
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chi2

from graphveil.audit import audit, examine
from graphveil.audit.enumeration import worst_link
from graphveil.audit.reports import CountedBits
from graphveil.channels import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import NeighbourLists, dendrogram, mechanism
from graphveil.mechanisms.edgerr import EdgeRR, settled
from graphveil.privacy import Plan
from graphveil.progress import listening
from tests.audits import end_when_found, leave_out_draws, left_out
from tests.mechanisms.support import of_graph, published, same_answers
from tests.together import together

NEVER_TOGETHER = {"tau_split": 1e6, "tau_inner": 1e6}


def flat(pairs):
    return [number for pair in pairs for number in pair]


def edgerr(epsilon=1.0, dims=9, **settings):
    return mechanism("edgerr", epsilon=epsilon, dims=dims, **settings)


def drawn_pairs(found, links, seed=0):
    """The pairs that are published of a graph with these links, the smaller number first."""
    lists = of_graph(links, found.size)
    return {(a, b) for b, a in published(found.randomize(lists, SeededBits(seed))).tolist()}


def same_graphs(found, links, others, seed=1):
    return same_answers(found, of_graph(links, found.size), of_graph(others, found.size), seed)


def ring(users):
    return [(user, (user + 1) % users) for user in range(users)]


@together("users", range(2, 12))
def test_one_link_changes_a_likelihood_by_the_sensitivity_at_most(users):
    def term(linked, pairs):
        parts = [part for part in (linked, pairs - linked) if part]
        return sum(part * math.log(part / pairs) for part in parts)

    splits = [left * (users - left) for left in range(1, users)]
    changes = [
        abs(term(linked + 1, pairs) - term(linked, pairs))
        for most in splits
        # Public links take pairs away.
        for pairs in range(1, most + 1)
        for linked in range(pairs)
    ]
    assert mechanism("privhrg", epsilon=1.0, dims=users).sensitivity == pytest.approx(max(changes))


# With four users there are 64 graphs of 15 dendrograms each, with three 8 of 3.
LINKS = [
    *product([3], [[], [(0, 1)]], [0.1, 1.0, 8.0], [0.0, 0.3, 0.5, 0.9]),
    *product([4], [[], [(0, 1)], [(0, 1), (2, 3)]], [1.0], [0.0, 0.5]),
    *product([4], [[(0, 1), (2, 3)]], [0.1, 8.0], [0.3, 0.9]),
]


@together(("users", "public", "epsilon", "share"), LINKS)
def test_a_dendrogram_and_its_counts_reveal_a_link_by_no_more_than_the_budget(users, public, epsilon, share):
    found = edgerr(epsilon, users, tree_share=share, public=flat(public), **NEVER_TOGETHER)
    worst, _ = worst_link(found)
    assert not worst.exceeds(epsilon)
    # A count alone reveals all of its part.
    assert worst.epsilon >= (1 - share) * epsilon * (1 - 1e-9)


@together("users", [100, 22_470, 1_000_000])
def test_the_sensitivity_of_many_users_is_not_rounded_away(users):
    context, pairs = Context(prec=60), Decimal(users * users // 4)
    exact = context.ln(pairs) + (pairs - 1) * context.ln(context.divide(pairs, pairs - 1))
    assert mechanism("privhrg", epsilon=1.0, dims=users).sensitivity == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("share", "exact"), [(0.5, False), (0.0, True)])
def test_an_audit_calls_epsilon_exact_only_where_no_walk_is_needed(share, exact, monkeypatch):
    leave_out_draws(monkeypatch)
    # That an audit of all steps finds no leak is asked of every registered mechanism.
    for step in ("behaviour_step", "control_step", "classes_step", "processes_step"):
        monkeypatch.setattr(examine, step, lambda *_, step=step: left_out(step))
    found = audit(Plan(mechanism="edgerr", epsilon=1.0, dims=3, options={"tree_share": share}), quick=True)
    assert found.holds and ("exact epsilon" in found.protects[0]) == exact


def test_the_audit_sees_a_weight_that_is_too_large(monkeypatch):
    end_when_found("the stated loss is wrong", monkeypatch)
    monkeypatch.setattr(EdgeRR, "tilt", property(lambda self: 10 * self.choosing.claim.epsilon))
    found = audit("edgerr", epsilon=2.0, quick=True)
    assert not found.holds and "the stated loss is wrong" in found.leaks[0]


def test_the_audit_sees_a_walk_that_weighs_more_than_it_says(monkeypatch):
    honest = dendrogram.regions_of_many

    def heavier(users, private, pairs, kinds, held, words, tilt, sizes):
        return honest(users, private, pairs, kinds, held, words, 50 * tilt, sizes)

    end_when_found("", monkeypatch)
    # The sampler's draws tell, and come later.
    monkeypatch.setattr(examine, "behaviour_step", lambda *_: left_out("behaviour_step"))
    monkeypatch.setattr(dendrogram, "regions_of_many", heavier)
    assert not audit("edgerr", epsilon=8.0, quick=True).holds


def test_the_budget_is_that_of_dendrogram_and_counts_together():
    found = edgerr(2.0, tree_share=0.25)
    assert found.choosing.claim.epsilon == 0.5 and found.channel.claim.epsilon == 1.5
    assert found.epsilon == pytest.approx(2.0, rel=1e-11) and not found.loss.exceeds(2.0)
    # The weight of private links has twice the sensitivity.
    weight = 1.0 / (2 * found.sensitivity)
    assert mechanism("privhrg", epsilon=2.0, dims=9).tilt == pytest.approx(weight)
    assert mechanism("privhrg", epsilon=2.0, dims=9).tilt < weight
    public_alone = edgerr(2.0, tree_share=0.0)
    assert public_alone.choosing is None and public_alone.tilt == 0
    assert public_alone.channel.claim.epsilon == 2.0
    assert public_alone.beyond_audit == ()
    (told,) = edgerr().beyond_audit
    assert "324 steps" in told and "tree_share = 0" in told


def test_sensitivity_follows_from_private_users_alone_and_public_links_make_another_mechanism():
    some = edgerr(2.0, 100, private_users=[1, 5, 7, 9])
    assert some.sensitivity == mechanism("privhrg", epsilon=2.0, dims=4).sensitivity
    settings = [{}, {"public": [0, 1]}, {"private_users": [0, 1, 2]}, {"tau_split": 2.0}, {"sweeps": 3}]
    assert len({edgerr(**more).fingerprint for more in settings}) == len(settings)


@pytest.mark.parametrize("name", ["privhrg", "edgerr"])
def test_at_a_large_budget_few_large_groups_come_back(name):
    """Two cliques of 20: a dendrogram that parts them is found, and between them is nothing."""
    cliques = [pair for start in (0, 20) for pair in combinations(range(start, start + 20), 2)]
    drawn = drawn_pairs(mechanism(name, epsilon=38.0, dims=40, sweeps=4000), cliques)
    right = len(drawn & set(cliques))
    assert right > 0.9 * len(cliques) and len(drawn) - right < 0.1 * len(cliques)


def test_public_links_and_pairs_of_others_are_not_published_anew():
    public, private = [(0, 1), (2, 3), (6, 7)], [(0, 4), (1, 2), (3, 4)]
    found = edgerr(dims=8, public=flat(public), private_users=[0, 1, 2, 3, 4], **NEVER_TOGETHER)
    for seed in range(20):
        drawn = drawn_pairs(found, public + private, seed)
        assert all(b <= 4 for _, b in drawn) and not drawn & set(public)


def test_what_changes_nothing_that_is_published():
    found = edgerr(5.0, 8, private_users=[0, 1, 2, 3, 4])
    assert same_graphs(found, [(0, 1)], [(0, 1), (6, 7), (2, 5)])
    found = edgerr(20.0, 3)
    larger = NeighbourLists(np.arange(3), np.array([0, 0, 0, 1]), np.array([0]))
    smaller = NeighbourLists(np.arange(3), np.array([0, 1, 1, 1]), np.array([2]))
    assert same_answers(found, larger, of_graph([(0, 2)], 3))
    assert same_answers(found, smaller, of_graph([], 3))
    public = [(0, 1), (4, 5)]
    control = edgerr(public=flat(public)).blind()
    assert same_graphs(control, public, [*public, (2, 3), (3, 4), (0, 8)]) and control.epsilon == 0


def test_the_same_words_publish_the_same():
    found, lists = edgerr(dims=30, public=flat(ring(10))), of_graph(ring(30), 30)
    assert found.randomize(lists, SeededBits(3)) == found.randomize(lists, SeededBits(3))
    assert found.randomize(lists, SeededBits(3)) != found.randomize(lists, SeededBits(4))
    for users in (1, 2, 3):
        few = mechanism("privhrg", epsilon=1.0, dims=users)
        assert few.randomize(of_graph([], users), SeededBits(0)).users == users


@together("row", list(product([0, 1], repeat=3)))
def test_rows_of_cells_have_the_probabilities_of_whole_graphs(row):
    """What a row of three cells publishes is what the graph of three users does, summed over all it is drawn from."""
    counts, total = edgerr(dims=3, public=[0, 1], **NEVER_TOGETHER).joint_counts(np.array(row))
    assert sum(counts) == total
    # Cell 0 is the public pair, which is never published anew.
    assert all(counts[number] == 0 for number in range(8) if number & 1)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("users", "public", "private_users", "graph", "tau"),
    [
        (4, [(0, 1)], None, [(0, 2), (1, 3)], 1e6),
        (4, [(0, 1), (2, 3)], [0, 1, 2], [(0, 2)], 1e6),
        (4, [], None, [(0, 1), (2, 3)], 0.5),
    ],
)
def test_graphs_are_drawn_as_they_are_written_out(users, public, private_users, graph, tau):
    """Chi-square over all published sets of pairs, 4,000 graphs from lists; a false alarm once in a million."""
    settings = {"public": flat(public), "private_users": private_users, "tau_split": tau, "tau_inner": tau}
    found = edgerr(4.0, users, **settings)
    pairs = list(combinations(range(users), 2))
    expected = np.array([float(chance) for chance in found._sketches.published(frozenset(graph), pairs)])
    draws, words, named = 4000, SeededBits(6), np.zeros(len(expected))
    lists = of_graph([*public, *graph], users)
    for _ in range(draws):
        drawn = {(a, b) for b, a in published(found.randomize(lists, words)).tolist()}
        named[sum(1 << place for place, pair in enumerate(pairs) if pair in drawn)] += 1
    assert named[expected == 0].sum() == 0
    # Rare sets count as one.
    rare = expected * draws < 5
    seen = np.append(named[~rare], named[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum()) * draws
    there = wanted > 0
    distance = ((seen - wanted)[there] ** 2 / wanted[there]).sum()
    assert distance < chi2.isf(1e-6, there.sum() - 1)


def test_a_walk_that_rises_goes_on_and_one_that_does_not_has_settled():
    assert not settled([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    assert settled([0.0, 8.0, 9.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    # A hundredth of the whole rise does not count.
    assert settled([0.0, 50.0, 90.0, 99.0, 99.0, 99.0, 99.4, 99.5])
    assert not settled([0.0, 1.0, 1.0])


def test_the_walk_by_public_links_stops_when_it_has_settled_and_says_how_far_it_is():
    heard = []
    found = edgerr(dims=60, public=flat(ring(60)), sweeps=2000)
    with listening(lambda what, share: heard.append((what, share))):
        found.randomize(of_graph(ring(60), 60), SeededBits(0))
    public = [share for what, share in heard if what == "a dendrogram of public links"]
    private = [share for what, share in heard if what == "a dendrogram of private links"]
    assert 0 < public[-1] < 0.5 and private[-1] == 1.0


def test_how_long_it_walks_does_not_depend_on_private_links():
    # Where all is counted as one, there is one region whatever the dendrogram.
    found, taken = edgerr(dims=30, public=flat(ring(30)), tau_split=1e-9, tau_inner=1e-9), set()
    for private in ([], [(0, 5), (3, 9), (8, 20)]):
        random_bits = CountedBits(0)
        found.randomize(of_graph(ring(30) + private, 30), random_bits)
        taken.add(random_bits.taken)
    assert len(taken) == 1


@together(
    ("settings", "message"),
    [
        ({"tree_share": 1.0}, r"tree_share must be a number in \[0, 1\), got 1.0"),
        ({"tree_share": -0.1}, "tree_share"),
        ({"tau_split": 0}, "tau_split must be a number from 1e-12 to 1e"),
        ({"tau_inner": math.nan}, "tau_inner"),
        ({"sweeps": 0}, "sweeps must be an integer from 1 to 1048576, got 0"),
        ({"public": [0, 1, 2]}, "two numbers at a time, got 3"),
        ({"public": [4, 4]}, "different users"),
        ({"public": [0, 9]}, "public must be numbers of users from 0 to 8"),
        ({"public": "01"}, "public must be a list of numbers of users"),
        ({"private_users": [-1]}, "private_users must be numbers of users from 0 to 8"),
        ({"private_users": [0.5]}, "private_users must be a list of numbers"),
        ({"dims": (1 << 24) + 1}, "at most 16777216 users"),
        ({"name": "privhrg", "public": [0, 1]}, "privhrg has no setting 'public'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        mechanism(**{"name": "edgerr", "epsilon": 1.0, "dims": 9, **settings})


def test_what_cannot_be_enumerated_or_published_says_so():
    with pytest.raises(InputError, match="too many different graphs"):
        edgerr(dims=4).joint_counts(np.zeros(4))
    with pytest.raises(InputError, match="takes the lists of all 3 users"):
        edgerr(dims=3).randomize(of_graph([], 3, owners=[0, 2]))
