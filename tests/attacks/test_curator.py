"""Curators' graphs: numbers against exact probabilities, and attacks that are strong enough to see what is spent."""

import math
from itertools import product

import numpy as np
import pytest

import graphveil as gv
from graphveil.attacks.game import Reporting, dice_of, words_of
from graphveil.attacks.link import TOGETHER, Planted, curator_ratios, number_ratio, paired_off
from tests.attacks.small import FALSE_ALARM, control_is_off_by, how_likely, people, played

# No walk: all of ε goes to the counts.
COUNTS = {"tree_share": 0.0, "sweeps": 2}


def right(plays):
    return sum(each.planted.right for each in plays), sum(each.planted.guesses for each in plays)


@pytest.mark.parametrize("unknown", [0, 1, 3])
@pytest.mark.parametrize("more", [-2, 0, 1, 2, 40])
def test_a_noisy_number_tells_what_all_coins_together_make_likely(more, unknown):
    ratio = 0.4

    def chance(linked):
        counts = [sum(coins) + linked for coins in product([0, 1], repeat=unknown)]
        return sum(ratio ** abs(more - count) for count in counts)

    assert number_ratio(ratio, more, unknown) == pytest.approx(math.log(chance(1) / chance(0)))


def test_no_number_is_too_far_for_a_float():
    assert number_ratio(math.exp(-8), 10_000, 7) == pytest.approx(8)


@pytest.mark.parametrize("name", ["lapgraph", "privhrg"])
def test_no_pair_tells_more_than_the_budget(name):
    graph, users = people(80, 6)
    mechanism = gv.mechanism(name, epsilon=2.0, dims=80, **({} if name == "lapgraph" else COUNTS))
    dice = dice_of(3)
    planted = Planted.of(Reporting(mechanism, graph, users), paired_off(mechanism, dice)[:TOGETHER], dice)
    ratios = curator_ratios(mechanism, mechanism, planted, words_of(0))
    assert len(ratios) == TOGETHER
    assert np.abs(ratios).max() <= 2.0 + 1e-9


@pytest.mark.statistical  # 6 standard deviations, false alarm 2e-9
@pytest.mark.parametrize("name", ["lapgraph", "privhrg"])
def test_the_control_is_at_chance(name):
    more = {} if name == "lapgraph" else COUNTS
    assert control_is_off_by(*played("link", name, 2.0, runs=6, data=people(80, 6), **more)) < 6


@pytest.mark.statistical  # 600 and more guesses, of which over 60% are right: never as few as this
@pytest.mark.parametrize(("name", "epsilon"), [("lapgraph", 8.0), ("privhrg", 4.0)])
def test_what_is_published_tells_something(name, epsilon):
    more = {} if name == "lapgraph" else COUNTS
    hits, guesses = right(played("link", name, epsilon, runs=15, data=people(80, 6), **more)[1])
    assert hits / guesses > 0.55


@pytest.mark.statistical  # three of four guesses and more are right where 52.5% are allowed: never missed
@pytest.mark.parametrize("name", ["lapgraph", "privhrg", "edgerr"])
def test_a_curator_who_spends_more_is_caught(name):
    more = {} if name == "lapgraph" else COUNTS
    if name == "edgerr":
        more = {**more, "private_edges": 0.5}
    assert (
        how_likely(*played("link", name, 8.0, runs=15, data=people(80, 6), claim=0.1, **more)) < FALSE_ALARM
    )
