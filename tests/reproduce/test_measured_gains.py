"""Measured gains that advice on a budget is learned from."""

import math

from reproduce.advice.gains import measured_gains

TEN = {
    *("cora", "citeseer", "pubmed", "facebook", "wikipedia", "twitch", "amazon-computers", "tolokers"),
    *("squirrel-filtered", "flickr-small"),
}


def test_ten_graphs_and_many_towns_were_measured_at_a_budget_of_four():
    lines = [line for line in measured_gains() if line.situation.epsilon == 4 and not line.situation.panel]
    assert {line.graph for line in lines if not line.town} >= TEN
    assert sum(line.town for line in lines) >= 40


def test_a_split_belongs_to_its_graph():
    assert {line.data for line in measured_gains() if line.graph == "cora few"} == {"cora"}


def test_numbers_are_finite_and_what_is_known_of_rows_is_known_of_panels_alone():
    for line in measured_gains():
        numbers = line.situation.numbers
        assert all(math.isfinite(value) for value in vars(numbers).values())
        assert -100 <= line.gain <= 100 and 0 <= numbers.left <= 1
        assert line.situation.panel or line.situation.nats == 0


def test_no_line_stands_there_twice():
    keys = [
        (line.graph, line.seed, line.situation.epsilon, line.situation.panel) for line in measured_gains()
    ]
    assert len(keys) == len(set(keys))
