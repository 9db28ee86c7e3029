"""Advice beside what was measured, each graph left out of all that its advice was learned from."""

import pytest

from docs.advised import FEW, checked, inside, summary
from graphveil.experiments.advice import TOO_MUCH

TEN = {
    *("cora", "citeseer", "pubmed", "facebook", "wikipedia", "twitch", "amazon-computers", "tolokers"),
    *("squirrel-filtered", "flickr-small"),
}


@pytest.fixture(scope="module")
def ten():
    return [row for row in checked("private") if row.graph in TEN and row.epsilon == 4]


def test_gains_lie_in_their_intervals_which_hold_their_ends(ten):
    assert {row.graph for row in ten} == TEN
    hit, width, _ = summary(ten)
    assert hit >= 8
    assert width <= 4
    row = checked("private")[0]
    assert inside(row.said.low, row.said) and inside(row.said.high, row.said)
    assert not inside(row.said.high + 1, row.said)


@pytest.mark.parametrize("kind", ["private", "panel"])
def test_nobody_is_told_not_to_collect_where_three_points_come_on_a_real_graph(kind):
    refused = [row for row in checked(kind) if row.verdict == "no"]
    assert not [row for row in refused if row.gain >= TOO_MUCH]


def test_volunteers_rows_foretell_better_than_one_guess():
    rows = [row for row in checked("panel") if not row.graph.endswith(FEW)]
    assert summary(rows)[2] < summary(rows, guess=True)[2]
