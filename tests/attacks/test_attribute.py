"""Attribute inference: Bayes against enumerated reports, and no sound mechanism above its bound."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphveil as gv
from graphveil.attacks import AttributeAttack
from graphveil.attacks.attribute import fitted_shares, report_ratios
from graphveil.errors import InputError
from graphveil.mechanisms import entry, names
from tests.attacks.small import EPSILONS, FALSE_ALARM, control_is_off_by, how_likely, people, played

# Tables of thousands of codes: tests/slow has them.
LARGE = ("latent", "ome")
SOUND = [name for name in names("features") if entry(name).sound and name not in LARGE]
# The classical Gaussian answers a value at 1 at most, and there are six.
BUDGETS = [pair for pair in product(SOUND, EPSILONS) if pair != ("gaussian", 8.0)]
ROW = np.array([0.0, 1.0, 0.0])


def options(name):
    return {"length": 2} if name == "item" else {}


def enumerated(mechanism, row, level):
    private = row if level is None else np.append(row, level)
    counts, _ = mechanism.joint_counts(private)
    return counts


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
    below, above = (enumerated(mechanism, each, level) for each in (low, high))
    possible = np.array([a > 0 and b > 0 for a, b in zip(above, below, strict=True)])
    expected = [math.log(a / b) for a, b in zip(above[possible], below[possible], strict=True)]
    reports = mechanism.possible_reports()
    count = reports.users
    levels = None if level is None else np.ones(count, dtype=int)
    found = report_ratios(
        mechanism, reports, np.full(count, target), np.tile(high, (count, 1)), levels, people()[0]
    )
    assert found[possible] == pytest.approx(expected, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "epsilon"), BUDGETS)
def test_no_sound_mechanism_is_above_its_bound(name, epsilon):
    stakes, plays = played("attribute", name, epsilon, **options(name))
    assert stakes.epsilon == epsilon
    assert how_likely(stakes, plays) > FALSE_ALARM


@pytest.mark.statistical  # 1,200 guesses: 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("name", ["multibit", "ppm", "item", "privunit"])
def test_the_control_is_at_chance(name):
    assert control_is_off_by(*played("attribute", name, 2.0, **options(name))) < 6


@pytest.mark.statistical  # one bit reaches its bound: 1,200 guesses, 6 standard deviations on either side, false alarm 2e-9
def test_one_bit_of_one_value_reaches_the_bound():
    _, plays = played("attribute", "multibit", 1.0)
    right = sum(each.planted.right for each in plays) / 1200
    assert abs(right - 1 / (1 + math.exp(-1))) < 6 * 0.5 / math.sqrt(1200)


@pytest.mark.statistical  # the attack wins 95% of 1,200 guesses where 62% are allowed: never missed
def test_a_mechanism_that_spends_more_than_it_says_is_caught():
    stakes, plays = played("attribute", "multibit", 3.0, claim=0.5)
    assert stakes.epsilon == 0.5
    assert how_likely(stakes, plays) < FALSE_ALARM


def test_real_values_stand_beside_with_a_control():
    _, plays = played("attribute", "multibit", 4.0, runs=1)
    names_of = list(plays[0].natural)
    assert names_of == [
        "vote of neighbours, as printed",
        "own report, where it says nothing neighbours",
        "own report, Bayes",
    ]
    assert plays[0].natural["own report, Bayes"].accuracy > 0.85


def test_shares_are_fitted_through_noise():
    table = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert fitted_shares(table, np.array([600, 400])) == pytest.approx([0.7, 0.3], abs=1e-3)


def test_a_graph_without_features_is_refused():
    graph, users = gv.from_arrays([[0, 1], [1, 2]], None, [0, 1, 0, 1])
    with pytest.raises(InputError, match="has no features: take another graph"):
        played("attribute", "multibit", 1.0, data=(graph, users))


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


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["multibit", "piecewise", "analytic-gaussian", "item", "privunit", "ppm"])
def test_no_sound_mechanism_is_above_the_bound_of_a_fitted_prior(name, epsilon):
    for play in played(FITTED, name, epsilon, **options(name))[1]:
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
