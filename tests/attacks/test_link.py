"""Link inference: Bayes against exact probabilities of small graphs, and no mechanism above its bound."""

import math
from itertools import product

import numpy as np
import pytest

import graphveil as gv
from graphveil.attacks import ATTACKS
from graphveil.attacks.game import REPORTS, Reporting, dice_of
from graphveil.attacks.link import (
    TOGETHER,
    Planted,
    PublishedLinks,
    link_ratios,
    number_ratio,
    pair_ratios,
    paired_off,
)
from graphveil.channels import SeededBits
from graphveil.mechanisms import NeighbourLists
from tests.attacks.small import people, played
from tests.refusals import check_refused

# A graph of 3 users: whether 0 and 1 are linked is the secret, 1 and 2 are linked for sure.
TARGET, AROUND = np.array([[0, 1]]), np.array([[1, 2]])
LISTS = {
    False: ([0, 0, 1, 2], [2, 1]),
    True: ([0, 1, 3, 4], [1, 0, 2, 1]),
}


def chance(mechanism, reports, linked):
    """How likely all three reports are, from each user's table of whole reports."""
    pointers, others = mechanism.neighbours(reports)
    degrees = mechanism.degrees(reports)
    starts, neighbours = LISTS[linked]
    found = 1.0
    for owner in range(3):
        held = neighbours[starts[owner] : starts[owner + 1]]
        asked = mechanism.asked(owner)
        counts, total = mechanism.counts_of(
            [int(other in held) for other in asked], mechanism.degree_of(owner, held)
        )
        named = others[pointers[owner] : pointers[owner + 1]].tolist()
        place = sum(1 << asked.index(other) for other in named)
        if degrees is not None:
            place += int(degrees[owner]) << len(asked)
        found *= counts[place] / total
    return found


@pytest.mark.parametrize(
    ("name", "more"),
    [("link-rr", {}), ("blink", {"share": 0.5}), ("blink", {"ends": "both"}), ("dprr", {"share": 0.5})],
)
def test_ratios_are_those_of_whole_reports(name, more):
    mechanism = gv.mechanism(name, epsilon=1.5, dims=3, **more)
    for seed in range(40):
        starts, neighbours = LISTS[seed % 2 == 0]
        lists = NeighbourLists(np.arange(3), np.array(starts), np.array(neighbours))
        reports = mechanism.randomize(lists, SeededBits(seed))
        expected = math.log(chance(mechanism, reports, True) / chance(mechanism, reports, False))
        found = pair_ratios(mechanism, PublishedLinks(mechanism, reports), TARGET, AROUND)
        assert found == pytest.approx([expected], abs=1e-9)


def test_only_private_pairs_are_guessed_and_everybody_is_in_one_at_most():
    graph, _ = people(80, 6)
    mechanism = ATTACKS.find("link").build("edgerr", 1.0, graph, 0, {"sweeps": 10, "private_edges": 0.5})
    pairs = paired_off(mechanism, dice_of(0))
    public = {frozenset(pair) for pair in mechanism.public.tolist()}
    assert len(pairs) > 10
    assert mechanism.private[pairs].all()
    assert not public & {frozenset(pair) for pair in pairs.tolist()}
    assert len(np.unique(pairs)) == pairs.size


def test_what_there_is_nothing_to_infer_of_is_refused():
    data = gv.from_arrays(np.empty((0, 2), dtype=int), None, [0, 1, 0, 1])
    check_refused(
        lambda options: played("link", "link-rr", 1.0, **options),
        [
            ({"private_edges": 0.5}, "link-rr takes no private_edges"),
            ({"data": data}, "has no links to infer"),
        ],
    )


def test_a_noisy_number_tells_what_all_coins_together_make_likely():
    ratio = 0.4

    def chance(more, unknown, linked):
        counts = [sum(coins) + linked for coins in product([0, 1], repeat=unknown)]
        return sum(ratio ** abs(more - count) for count in counts)

    for more, unknown in product((-2, 0, 1, 2, 40), (0, 1, 3)):
        expected = math.log(chance(more, unknown, 1) / chance(more, unknown, 0))
        assert number_ratio(ratio, more, unknown) == pytest.approx(expected), (more, unknown)
    # No number is too far for a float.
    assert number_ratio(math.exp(-8), 10_000, 7) == pytest.approx(8)


@pytest.mark.parametrize("name", ["lapgraph", "privhrg"])
def test_no_pair_tells_more_than_the_budget(name):
    graph, users = people(80, 6)
    mechanism = gv.mechanism(
        name, epsilon=2.0, dims=80, **({} if name == "lapgraph" else {"tree_share": 0.0, "sweeps": 2})
    )
    dice = dice_of(3)
    planted = Planted.of(Reporting(mechanism, graph, users), paired_off(mechanism, dice)[:TOGETHER], dice)
    ratios = link_ratios(mechanism, mechanism, planted, SeededBits(0, REPORTS))
    assert len(ratios) == TOGETHER
    assert np.abs(ratios).max() <= 2.0 + 1e-9
