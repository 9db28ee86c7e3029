"""Malicious users: forged reports, in the form of honest ones and as bad as the alphabet allows; and what one report can add at most."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.attacks import influence_of
from graphveil.attacks.poisoning import ForgingUsers, class_direction, weights_in_means
from graphveil.errors import InputError, MessageError
from graphveil.graphs import from_arrays
from graphveil.graphs.users import Users
from graphveil.privacy import Plan
from graphveil.privacy.integer_model import integer_model

PEOPLE, DIMS = 6, 4
LIARS = np.array([True, False, False, True, False, False])
# The target class has more of value 2 and less of value 1.
DIRECTION = np.array([0.1, -0.5, 0.9, 0.0])


def reported(plan, target=1):
    users = Users(np.full((PEOPLE, DIMS), 0.5), np.zeros(PEOPLE, dtype=np.int64))
    honest = users.declare(9.0, seed=0).report(plan)
    liars = ForgingUsers(users.declare(9.0, seed=0), LIARS, target, DIRECTION, 0)
    return honest, liars.report(plan), liars.forged


def asking(mechanism="multibit", **fields):
    return Plan(**{"mechanism": mechanism, "epsilon": 1.0, "dims": DIMS, "range": (0, 1), **fields})


def test_liars_name_the_telling_values_and_send_the_largest_and_smallest_codes():
    plan = asking(sampled=2)
    honest, sent, forged = reported(plan)
    dense = sent.estimate().dense() - 0.5
    largest = plan.build().largest
    assert dense[0].tolist() == dense[3].tolist() == pytest.approx([0, -largest, largest, 0])
    assert forged
    # Honest reports stay as they are.
    assert all(sent.row(user) == honest.row(user) for user in np.flatnonzero(~LIARS))
    # Where values are asked unevenly, liars keep those that they drew.
    honest, sent, _ = reported(asking(sampled=1, options={"pool": [0, 1], "from_pool": 0.75}))
    assert sent.dims.tolist() == honest.dims.tolist()


def test_liars_report_the_target_as_their_label_or_its_place_or_the_last():
    _, sent, _ = reported(Plan(mechanism="krr", epsilon=1.0, classes=3), target=2)
    assert sent.codes[LIARS].tolist() == [2, 2]
    model, _ = integer_model(np.eye(3, DIMS), np.zeros(3), (0.0, 1.0))
    lists = np.array([[1, 0], [0, 2]])
    _, sent, _ = reported(
        asking("krr", of="class", users=(3, 0), classes=2, model=model, lists=lists), target=1
    )
    assert sent.codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("dims", "options"), [(DIMS, {}), (DIMS, {"inputs": DIMS}), (2, {"inputs": DIMS, "hash_seed": 3})]
)
def test_a_forged_direction_is_as_long_as_a_server_takes_and_points_at_the_target(dims, options):
    plan = asking("privunit", epsilon=2.0, dims=dims, options=options)
    honest, sent, forged = reported(plan)
    built = plan.build()
    assert forged and sent.row(1) == honest.row(1)
    lies = (sent.estimate().dense() - built.ball.centre)[LIARS]
    own = DIRECTION
    if dims < DIMS:
        own = np.bincount(built.sketch.places, built.sketch.signs * DIRECTION, minlength=dims)
    np.testing.assert_allclose(lies, lies[:1].repeat(2, axis=0))
    assert lies[0] @ own / np.linalg.norm(own) == pytest.approx(built.reach, rel=1e-3)
    # A code more, and it is refused.
    longer = np.array(sent.codes).reshape(PEOPLE, dims)
    longer[0] = np.where(longer[0] > 1 << 15, (1 << 16) - 1, 0)
    with pytest.raises(MessageError, match="no report of privunit is longer"):
        replace(sent, codes=longer.ravel()).check()


def test_where_codes_cannot_be_chosen_liars_answer_for_a_false_row_and_a_norm_is_the_longest():
    honest, sent, forged = reported(asking("item", options={"length": 2}))
    assert not forged
    assert [sent.row(user) == honest.row(user) for user in np.flatnonzero(~LIARS)] == [True] * 4
    _, sent, forged = reported(asking("piecewise", of="norm", dims=1, range=(0, 2)))
    assert forged
    assert sent.estimate().dense()[LIARS].ravel().tolist() == [sent.estimate().dense().max()] * 2


@pytest.mark.parametrize(
    "plan",
    [
        asking(sampled=2),
        asking("privunit"),
        Plan(mechanism="krr", epsilon=1.0, classes=3),
    ],
)
def test_careless_reports_have_the_form_of_others_and_are_the_liars_alone(plan):
    users = Users(np.full((PEOPLE, DIMS), 0.5), np.zeros(PEOPLE, dtype=np.int64))
    honest = users.declare(9.0, seed=0).report(plan)
    liars = np.ones(PEOPLE, dtype=bool)
    liars[2] = False
    sent, again = (
        ForgingUsers(users.declare(9.0, seed=0), liars, 1, DIRECTION, 0, careless=True).report(plan)
        for _ in range(2)
    )
    sent.check()
    assert sent.row(2) == honest.row(2) and sent != honest
    assert again == sent


def test_a_hub_weighs_most_and_a_direction_is_what_the_target_class_has_more_of():
    star = from_arrays(np.array([[0, 1], [0, 2], [0, 3], [3, 4]]), None, None)[0]
    assert weights_in_means(star).tolist() == pytest.approx([2.5, 1 / 3, 1 / 3, 4 / 3, 0.5])
    rows, labels = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]]), np.array([2, 0, 1])
    for each in (rows, csr_array(rows)):
        assert class_direction(each, labels, 2).tolist() == [1.0, -0.75]


def test_a_report_adds_what_its_largest_code_decodes_to():
    told = influence_of(asking(dims=10, range=(0, 2), sampled=1))
    # One bit, debiased: d/2 · (e^ε + 1)/(e^ε - 1) widths from the middle.
    assert told.most == pytest.approx(0.5 + 5 * (math.e + 1) / (math.e - 1))
    assert (told.values, told.dims) == (1, 10)
    label = influence_of(Plan(mechanism="krr", epsilon=1.0, classes=4))
    assert label.most == pytest.approx((math.e + 2) / (math.e - 1))
    # The bound grows with the share; links have none.
    told = influence_of(asking("piecewise"))
    assert told.moved(0.1) == pytest.approx(2 * told.moved(0.05))
    with pytest.raises(InputError, match="about links"):
        influence_of(Plan(mechanism="link-rr", epsilon=1.0, dims=4))


def test_the_bound_is_reached_by_the_worst_reports():
    plan = asking(sampled=1)
    built, share, users = plan.build(), 0.2, 1000
    liars = int(share * users)
    reports = built.randomize(np.zeros((users, 4)))
    codes, dims = reports.codes.copy(), reports.dims.copy()
    codes[:liars], dims[:liars] = built.channels[0].outputs.argmax(), 0
    added = type(reports)(built, reports.indptr, dims, codes).estimate().dense()[:liars, 0].sum() / users
    assert added == pytest.approx(influence_of(plan).moved(share))


def test_a_sketch_reaches_as_far_as_its_longest_report():
    plan = asking("privunit", epsilon=2.0, dims=64, range=(0, 5), options={"inputs": 300})
    built, told = plan.build(), influence_of(plan)
    # A number of a sketch lies between -1 and 1: the width is 2, whatever the range of values is.
    assert told.most == pytest.approx(0.5 + built.longest / built.cap.gain / 2)
    # Codes alone would allow 32 standard deviations in every number.
    assert built.reach < 0.1 * 32 * 8 / built.cap.gain
