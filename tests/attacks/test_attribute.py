"""Attribute inference: Bayes against enumerated reports, and no sound mechanism above its bound."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphveil as gv
from graphveil.attacks import AttributeAttack, attribute_inference, guess_bound
from graphveil.attacks.attribute import fitted_shares, report_ratios
from graphveil.channels import onebit
from graphveil.mechanisms import Estimate
from tests.attacks.small import EPSILON, FALSE_ALARM, how_likely, people, played
from tests.refusals import check_refused

ROW = np.array([0.0, 1.0, 0.0])


def options(name):
    return {"length": 2} if name == "item" else {}


@pytest.mark.parametrize(
    ("name", "epsilon", "more"),
    [
        ("multibit", 1.0, {"binary": True}),
        ("piecewise", 5.0, {"binary": True}),
        ("onebit", 2.0, {}),
        ("item", 1.0, {"length": 2}),
        ("item", 1.0, {"length": 3}),
        ("ppm", 0.5, {"levels": 2, "binary": True}),
    ],
)
@pytest.mark.parametrize("target", [0, 1])
def test_ratios_are_those_of_enumerated_reports(name, epsilon, more, target):
    known = {} if name == "item" else {"range": (0, 1)}
    mechanism = gv.mechanism(name, epsilon=epsilon, dims=3, **known, **more)
    level = 1 if name == "ppm" else None
    low, high = (np.where(np.arange(3) == target, end, ROW) for end in (0.0, 1.0))
    below, above = (
        mechanism.joint_counts(row if level is None else np.append(row, level))[0] for row in (low, high)
    )
    possible = np.array([a > 0 and b > 0 for a, b in zip(above, below, strict=True)])
    expected = [math.log(a / b) for a, b in zip(above[possible], below[possible], strict=True)]
    reports = mechanism.possible_reports()
    count = reports.users
    levels = None if level is None else np.ones(count, dtype=int)
    found = report_ratios(
        mechanism, reports, np.full(count, target), np.tile(high, (count, 1)), levels, people()[0]
    )
    assert found[possible] == pytest.approx(expected, abs=1e-9)


def test_real_values_stand_beside_with_a_control():
    _, plays = played("attribute", "multibit", 4.0, runs=1)
    own, blind = "own report, Bayes", "own report, where it says nothing neighbours"
    assert list(plays[0].natural) == ["vote of neighbours, as printed", blind, own]
    assert plays[0].natural[own].accuracy > 0.85


def test_shares_are_fitted_through_noise():
    table = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert fitted_shares(table, np.array([600, 400])) == pytest.approx([0.7, 0.3], abs=1e-3)


def test_what_there_is_nothing_to_infer_of_is_refused():
    graph, users = star()
    bare = gv.from_arrays(STAR, None, [0, 1, 0, 1])
    some = gv.Plan(mechanism="multibit", epsilon=1.0, dims=2, range=(0, 1), users=(0, 1))
    reports = users.declare(1.0, seed=0).report(some)
    check_refused(
        lambda ask: ask(),
        [
            (lambda: played("attribute", "multibit", 1.0, data=bare), "has no features: take another graph"),
            (lambda: attribute_inference(*bare, None, 0), "mine has no features"),
            (lambda: attribute_inference(graph, users, None, 2), "attributes must lie in 0..1, got 2..2"),
            (lambda: attribute_inference(graph, users, None, []), "one integer or several"),
            (lambda: attribute_inference(graph, users, None, 0.5), "one integer"),
            (lambda: attribute_inference(graph, users, reports), "reports must be those of all 4 users"),
            (lambda: attribute_inference(graph, users, []), "one round at least"),
        ],
    )


@pytest.mark.parametrize("name", ["multibit", "item"])
def test_sparse_rows_are_attacked_as_dense_ones_are(name):
    graph, users = people()
    sparse = gv.Users(csr_array(users.raw.features), users.raw.labels, neighbours=users.raw.neighbours)
    found = [
        played("attribute", name, 2.0, runs=1, data=(graph, each), **options(name))[1]
        for each in (users, sparse)
    ]
    assert found[0] == found[1]


FITTED = AttributeAttack("fitted")


@pytest.mark.statistical  # 400 reports of one of six values each, 40% above: 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("name", ["multibit", "piecewise", "featurerr", "item", "privunit", "ppm"])
def test_a_prior_is_fitted_to_reports(name):
    stakes, _ = played(FITTED, name, 8.0, runs=1, **options(name))
    assert sum(stakes.prior) == pytest.approx(1)
    # An estimated share is off by no more than those of answers at ε = 8 / 6 a value, with a standard deviation of .025 / .58.
    assert stakes.prior[1] == pytest.approx(0.4, abs=6 * 0.025 / 0.58)


@pytest.mark.statistical  # FALSE_ALARM for each of three plays
@pytest.mark.parametrize("name", ["multibit", "piecewise", "analytic-gaussian", "item", "privunit", "ppm"])
def test_no_sound_mechanism_is_above_the_bound_of_a_fitted_prior(name):
    for play in played(FITTED, name, EPSILON, **options(name))[1]:
        assert how_likely(play.stakes, [play]) > FALSE_ALARM


@pytest.mark.statistical  # 1,200 guesses: 6 standard deviations, false alarm 2e-9
def test_a_prior_is_weighed_against_the_report():
    """Values of which 3% are above: Bayes never guesses them at ε = 0.5, and is right where nothing is above."""
    graph, users = people()
    rare = (np.random.default_rng(5).random((400, 6)) < 0.03).astype(float)
    data = (graph, gv.Users(rare, users.raw.labels, neighbours=users.raw.neighbours))
    _, plays = played(FITTED, "multibit", 0.5, data=data)
    chances = [max(play.stakes.prior) for play in plays]
    assert min(chances) > 1 / (1 + math.exp(-0.5))
    assert [play.stakes.bound for play in plays] == pytest.approx(chances)
    for play, chance in zip(plays, chances, strict=True):
        assert abs(play.planted.accuracy - chance) < 6 * math.sqrt(chance * (1 - chance) / 400) + 1e-9


# A star: user 0 knows everybody, and everybody else knows 0 alone.
STAR = np.array([[0, 1], [0, 2], [0, 3]])
FEATURES = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])


def star(features=FEATURES, public=(0, 1)):
    return gv.from_arrays(STAR, features, [0, 1, 0, 1], name="star", range=public)


def sparse(rows, users=4, dims=2, offset=0.5):
    """An estimate from {(user, attribute): value}, with the middle everywhere else."""
    places = sorted(rows)
    counts = np.bincount([user for user, _ in places], minlength=users)
    return Estimate(
        (users, dims),
        np.concatenate([[0], np.cumsum(counts)]),
        np.array([attribute for _, attribute in places], dtype=np.int32),
        np.array([rows[place] for place in places], dtype=np.float64),
        offset,
        True,
    )


def reports_of(graph, users, epsilon, mechanism="multibit", blind=False, seed=0, **more):
    public = (graph.public_range.low, graph.public_range.high)
    plan = gv.Plan(mechanism=mechanism, epsilon=epsilon, dims=graph.feature_count, range=public, **more)
    return users.declare(epsilon, seed=seed, blind=blind).report(plan)


def test_neighbours_vote_by_the_side_of_the_middle_which_is_that_of_the_public_range():
    # Of attribute 0: two above, one below, whatever their size; of attribute 1 one vote each way, a tie.
    estimate = sparse({(1, 0): 0.1, (2, 0): 9.0, (3, 0): -70.0, (1, 1): 5.0, (2, 1): -5.0, (0, 1): 3.0})
    graph, users = star([[1, 0], [0, 1], [0, 1], [0, 1]])
    assert attribute_inference(graph, users, estimate).accuracy == 1
    assert attribute_inference(graph, users, estimate, 0).accuracy == 1
    # A second round breaks the tie.
    graph, users = star([[1, 1], [0, 1], [0, 1], [0, 1]])
    assert attribute_inference(graph, users, [estimate, sparse({(3, 1): 1.0})]).accuracy == 1
    for reported, first in ((4.0, 0), (6.0, 10)):
        graph, users = star([[first, 0], [0, 0], [0, 0], [0, 0]], public=(0, 10))
        assert attribute_inference(graph, users, sparse({(1, 0): reported}, offset=0.0), 0).accuracy == 1


def test_without_privacy_the_numbers_are_those_by_hand():
    graph, users = star()
    found = attribute_inference(graph, users, None)
    # Attribute 0 is 1,1,1,0; guessed 1 (2 of 3), then 1,1,1 from user 0: three right. Attribute 1 is 0,0,1,1; guessed
    # 1 (2 of 3), then 0,0,0 from user 0: one right.
    assert found.accuracy == 4 / 8
    assert found.commonest == (3 + 2) / 8
    assert found.balanced == pytest.approx(((1 + 0) / 2 + (0 + 1 / 2) / 2) / 2)
    assert found.heard == 1
    alone = attribute_inference(graph, users, None, 1)
    assert (alone.accuracy, alone.balanced) == (1 / 4, 1 / 4)
    assert attribute_inference(graph, users, None, own=True).balanced == 1
    # An attribute that all have alike has no balanced accuracy.
    graph, users = star(np.array([[0, 0]] * 4))
    found = attribute_inference(graph, users, None)
    assert (found.accuracy, found.balanced, found.commonest) == (1.0, None, 1.0)


def test_always_guessing_the_commonest_value_is_accurate_and_has_learned_nothing():
    users, rare = 400, 0.02
    random = np.random.default_rng(0)
    features = (random.random((users, 300)) < rare).astype(np.uint8)
    links = random.integers(0, users, (1200, 2))
    graph, people = gv.from_arrays(links, features, np.arange(users) % 2, range=(0, 1))
    found = attribute_inference(graph, people, reports_of(graph, people, 5.0, sampled=2))
    assert found.accuracy > 0.95
    # No attribute depends on a neighbour's. Fewer than 4 sd of 300 means of 8 hits each.
    assert abs(found.balanced - 0.5) < 0.02
    assert found.heard < 0.1


def test_own_reports_tell_more_than_neighbours_and_blind_ones_nothing():
    graph, users = gv.load("town", seed=0)

    def told(own, blind):
        reports = reports_of(graph, users, 8.0, sampled=8, blind=blind)
        return attribute_inference(graph, users, reports, own=own).balanced

    by_neighbours, nothing = told(False, False), [told(own, True) for own in (False, True)]
    assert told(True, False) > by_neighbours + 0.01 > nothing[0] + 0.02
    assert np.abs(np.array(nothing) - 0.5).max() < 0.01


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_bit_reaches_the_bound_and_nothing_passes_it(epsilon):
    channel = onebit(epsilon)
    table = np.asarray(channel.table, dtype=object)
    total = int(table[0].sum())
    # Every deterministic guess from the report: which outputs are guessed as "above".
    rates = [
        (sum(int(table[1][o]) for o in above) + sum(int(table[0][o]) for o in {0, 1} - set(above)))
        / (2 * total)
        for above in ((), (0,), (1,), (0, 1))
    ]
    assert max(rates) <= guess_bound(epsilon)
    assert max(rates) == pytest.approx(guess_bound(epsilon), rel=1e-9)
    assert guess_bound(epsilon) == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))


def test_a_measured_own_report_of_one_bit_is_at_the_bound():
    users, epsilon = 20_000, 1.0
    features = np.repeat([0, 1], users // 2)[:, None]
    graph, people = gv.from_arrays(np.empty((0, 2), dtype=int), features, np.arange(users) % 2, range=(0, 1))
    found = attribute_inference(graph, people, reports_of(graph, people, epsilon, "onebit"), own=True)
    # Five standard deviations of a share of 20,000: false alarm below 1e-6.
    assert abs(found.balanced - guess_bound(epsilon)) < 5 * 0.5 / math.sqrt(users)
