"""What one report adds to an estimate at most, beside formulas and the worst reports."""

import math

import numpy as np
import pytest

from graphveil.attacks import influence_of
from graphveil.errors import InputError
from graphveil.privacy import Plan


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


def test_a_sketch_reaches_as_far_as_its_longest_report():
    plan = Plan(mechanism="privunit", epsilon=2.0, dims=64, range=(0, 5), options={"inputs": 300})
    built, told = plan.build(), influence_of(plan)
    # A number of a sketch lies between -1 and 1: the width is 2, whatever the range of values is.
    assert told.most == pytest.approx(0.5 + built.longest / built.cap.gain / 2)
    # Codes alone would allow 32 standard deviations in every number.
    assert built.reach < 0.1 * 32 * 8 / built.cap.gain
