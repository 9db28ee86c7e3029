"""An adversary tries to read values off refusals, errors and warnings. Warnings are errors here: silence is part of the test."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphveil as gv
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import PersonalMechanism, names

DIMS = 6
ODD = [0.0, 1.0, 0.5, 0.1 + 0.2, -0.0, -3.0, 7.0, 1e-320, -1e308, 1e308, math.nan, math.inf, -math.inf]
NEEDS = {"item": {"options": {"length": 2}}, "ppm": {"levels": 3}}


def plans():
    for name in names("features"):
        if name == "ppm-printed":
            continue
        more = NEEDS.get(name, {})
        yield pytest.param(gv.Plan(mechanism=name, epsilon=0.5, dims=DIMS, range=(0, 1), **more), id=name)
        try:
            binary = gv.Plan(mechanism=name, epsilon=0.5, dims=DIMS, range=(0.25, 0.5), binary=True, **more)
        except gv.InputError:
            continue
        yield pytest.param(binary, id=f"{name}-binary")


def held(plan, row):
    return ([2], row) if isinstance(plan.build(), PersonalMechanism) else row


@pytest.mark.parametrize("plan", list(plans()))
def test_every_row_is_answered_in_silence_and_charged_alike(plan):
    for value in ODD:
        for row in (np.full((1, DIMS), value), np.where(np.eye(1, DIMS), value, 0.0)):
            for kind in (np.asarray, csr_array, lambda rows: rows.astype(np.float32).astype(object)):
                with np.errstate(all="ignore"):
                    private = kind(row)
                ledger = gv.Ledger(users=1, epsilon=9.0, delta=0.1)
                reports = gv.answer(plan, held(plan, private), ledger, SeededBits(1))
                assert reports.lengths.tolist() == [plan.build().shape.length]
                assert [charge.claim for charge in ledger.charges] == [plan.claim]


@pytest.mark.parametrize("value", [None, "seven", "1", 10**400, b"x", [1]], ids=repr)
def test_what_is_no_number_is_answered_too(value):
    row = np.empty((1, DIMS), dtype=object)
    row[:] = 1
    row[0, 2] = value
    plan = gv.Plan(mechanism="onebit", epsilon=1.0, dims=DIMS, range=(0, 1))
    assert gv.answer(plan, row, gv.Ledger(users=1, epsilon=1.0)).users == 1


@pytest.mark.parametrize("label", [-1, 4, 10**9, 0.5, math.nan, None])
@pytest.mark.parametrize("name", ["krr", "esw"])
def test_a_symbol_beyond_the_plan_is_answered_like_any_other(name, label):
    fields = {"classes": 2} if name == "krr" else {"levels": 2}
    plan = gv.Plan(mechanism=name, epsilon=1.0, **fields)
    ledger = gv.Ledger(users=2, epsilon=1.0)
    reports = gv.answer(plan, [label, 1], ledger, SeededBits(0))
    assert reports.users == 2
    assert ledger.spent.tolist() == [1.0, 1.0]


@pytest.mark.statistical
def test_a_label_beyond_the_classes_is_answered_at_random():
    """200,000 draws of a fair answer among three: each share is off by 6 deviations in one of 10^8 runs."""
    plan = gv.Plan(mechanism="krr", epsilon=3.0, classes=3)
    count = 200_000
    reports = gv.answer(plan, np.full(count, 7), gv.Ledger(users=count, epsilon=3.0), SeededBits(3))
    shares = np.bincount(reports.codes, minlength=3) / count
    assert np.abs(shares - 1 / 3).max() < 6 * math.sqrt(2 / 9 / count)


@pytest.mark.parametrize("neighbour", [-5, 3, 4, 10**9])
def test_a_neighbour_who_is_nobody_is_passed_over(neighbour):
    lists = gv.mechanisms.NeighbourLists(np.array([3]), np.array([0, 2]), np.array([1, neighbour]))
    plan = gv.Plan(mechanism="link-rr", epsilon=20.0, dims=4, users=(3,))
    reports = gv.answer(plan, lists, gv.Ledger(users=4, epsilon=20.0))
    assert reports.codes.tolist() == [1]


def test_bisection_by_refusals_reads_nothing():
    """The attack: a binary question with a range of the server's choosing was refused where the value lay inside it."""
    secret = 0.7310585786300049
    answered = []
    halves = [(0.0, 0.5), (0.5, 1.0), (0.7, 0.8), (0.731, 0.732), (secret - 1e-9, secret + 1e-9)]
    for low, high in [*halves, (-1.0, 2.0)]:
        plan = gv.Plan(mechanism="multibit", epsilon=1e-7, dims=1, range=(low, high), binary=True)
        answered.append(gv.answer(plan, [[secret]], gv.Ledger(users=1, epsilon=1.0), SeededBits(0)).users)
    assert answered == [1] * 6


def test_the_owner_can_ask_what_would_be_altered():
    plan = gv.Plan(mechanism="multibit", epsilon=1.0, dims=2, range=(0, 1))
    with pytest.warns(gv.ClippedWarning, match="2 rows do not fit"):
        assert gv.privacy.look_over(plan, [[0, 5], [0, 1], [math.nan, 1]]) == 2
    assert gv.privacy.look_over(plan, [[0, 1]]) == 0
