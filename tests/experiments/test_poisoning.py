"""Malicious users: exact bounds of what a report adds, and measured runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.poisoning import Harm, advise_poisoning, influence_of, weights_in_means
from graphveil.experiments.unit import run_unit
from graphveil.graphs import from_arrays
from graphveil.privacy import Plan

TOWN = {"epochs": 2, "data.users": 200, "data.neighbourhood": 10, "data.degree": 8.0}


def test_a_report_adds_what_its_largest_code_decodes_to():
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=10, range=(0, 2), sampled=1)
    told = influence_of(plan)
    # One bit, debiased: d/2 · (e^ε + 1)/(e^ε - 1) widths from the middle.
    assert told.most == pytest.approx(0.5 + 5 * (math.e + 1) / (math.e - 1))
    assert (told.values, told.dims) == (1, 10)


def test_a_label_adds_what_k_ary_response_decodes_to():
    told = influence_of(Plan(mechanism="krr", epsilon=1.0, classes=4))
    assert told.most == pytest.approx((math.e + 2) / (math.e - 1))


def test_the_bound_is_reached_by_the_worst_reports():
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1), sampled=1)
    built, share, users = plan.build(), 0.2, 1000
    liars = int(share * users)
    reports = built.randomize(np.zeros((users, 4)))
    codes, dims = reports.codes.copy(), reports.dims.copy()
    codes[:liars], dims[:liars] = built.channels[0].outputs.argmax(), 0
    added = type(reports)(built, reports.indptr, dims, codes).estimate().dense()[:liars, 0].sum() / users
    assert added == pytest.approx(influence_of(plan).moved(share))


def test_a_bound_grows_with_the_share():
    told = influence_of(Plan(mechanism="piecewise", epsilon=1.0, dims=4, range=(0, 1)))
    assert told.moved(0.1) == pytest.approx(2 * told.moved(0.05))


def test_links_have_no_such_bound():
    with pytest.raises(InputError, match="about links"):
        influence_of(Plan(mechanism="link-rr", epsilon=1.0, dims=4))


@pytest.fixture(scope="module")
def advice():
    return advise_poisoning(Experiment.of("base", "town", epsilon=2.0, settings=TOWN), (0.1, 0.3), target=1)


def test_all_shares_are_measured_beside_none(advice):
    assert [(line.share, line.malicious) for line in advice.lines] == [(0.0, 0), (0.1, 20), (0.3, 60)]
    assert advice.forged and advice.target == 1
    told = advice.to_dict()
    assert told["lines"][1]["moved"] == [advice.influences[0].moved(0.1)]


def test_careless_and_well_placed_liars_stand_beside_those_drawn_at_random(advice):
    none, some, many = advice.lines
    assert none.careless == none.placed == Harm(none.score, none.drawn_in)
    for line in (some, many):
        assert len({line.careless, line.placed, Harm(line.score, line.drawn_in)}) == 3
    # Who pushes a class draws in more than who says nothing.
    assert many.drawn_in > many.careless.drawn_in and many.placed.drawn_in > many.careless.drawn_in
    told = advice.to_dict()["lines"][1]
    assert told["placed"] == {"score": some.placed.score, "drawn_in": some.placed.drawn_in}


def test_a_hub_weighs_most_in_the_means_of_others():
    star = from_arrays(np.array([[0, 1], [0, 2], [0, 3], [3, 4]]), None, None)[0]
    assert weights_in_means(star).tolist() == pytest.approx([2.5, 1 / 3, 1 / 3, 4 / 3, 0.5])


def test_a_sketch_reaches_as_far_as_its_longest_report():
    plan = Plan(mechanism="privunit", epsilon=2.0, dims=64, range=(0, 5), options={"inputs": 300})
    built, told = plan.build(), influence_of(plan)
    # A number of a sketch lies between -1 and 1: the width is 2, whatever the range of values is.
    assert told.most == pytest.approx(0.5 + built.longest / built.cap.gain / 2)
    # Codes alone would allow 32 standard deviations in every number.
    assert built.reach < 0.1 * 32 * 8 / built.cap.gain


def test_without_liars_the_numbers_are_those_of_a_run(advice):
    unit = run_unit(Experiment.of("base", "town", epsilon=2.0, settings=TOWN), "method", 0)
    assert advice.lines[0].score == unit.score


@pytest.mark.parametrize(
    ("method", "options", "shares", "target", "why"),
    [
        ("structure", {}, (0.1,), None, "nobody can lie"),
        ("base", {"epsilon": 1.0}, (0.0,), None, "at least one share"),
        ("base", {"epsilon": 1.0}, (1.0,), None, "share"),
        ("base", {"epsilon": 1.0, "task": "link"}, (0.1,), None, "take the task node"),
        ("base", {"epsilon": 1.0, "settings": TOWN}, (0.1,), 9, "target"),
    ],
)
def test_what_cannot_be_measured_is_refused(method, options, shares, target, why):
    with pytest.raises(InputError, match=why):
        advise_poisoning(Experiment.of(method, "town", **options), shares, target)
