"""Who answers: drawn by seed, independently of values or along a number, at the share that was asked for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphveil.graphs import Users, from_arrays
from graphveil.graphs.users import draw_answering
from graphveil.privacy import Plan
from tests.refusals import check_refused

WHO = np.array([True, False, True, True, False, True])
PLAN = Plan(mechanism="multibit", epsilon=1.0, dims=3, range=(0, 1))


def users(count=6):
    pairs = np.stack([np.zeros(count - 1, dtype=int), np.arange(1, count)], axis=1)
    labels = np.arange(count) % 2
    return from_arrays(pairs, np.eye(count, 3), labels, range=(0, 1), seed=0)[1]


def test_who_is_silent_follows_from_the_seed_and_from_what_silence_looks_at():
    first, again, other = (draw_answering(100, 0.5, seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    drawn, alike = draw_answering(1000, 0.5, 2), draw_answering(1000, 0.5, 2, np.zeros(1000))
    assert np.array_equal(drawn, alike)
    some = users(200)
    raw = some.raw
    other = Users(1 - raw.features, 1 - raw.labels, neighbours=raw.neighbours)
    assert np.array_equal(some.turnout(0.5, 1), other.turnout(0.5, 1))
    assert not np.array_equal(some.turnout(0.5, 1, "class"), other.turnout(0.5, 1, "class"))
    # User 0 has all links, so the chance to answer is lowest, at 1/2 - 1/2·(1 - 1/6) = 1/12.
    hub = [users().turnout(0.5, seed, "degree")[0] for seed in range(200)]
    assert sum(hub) < 50


@pytest.mark.statistical
def test_the_share_is_what_was_asked_for():
    # A false alarm in less than one of 10^9: six standard deviations.
    drawn = draw_answering(1_000_000, 0.7, 1)
    assert abs(drawn.mean() - 0.7) < 6 * np.sqrt(0.21 / 1e6)


@pytest.mark.statistical
@pytest.mark.parametrize("participation", [0.2, 0.5, 0.9])
def test_along_a_number_the_chance_falls_evenly_around_the_share(participation):
    # Two groups of half a million each stand at a quarter and three quarters; six standard deviations each.
    by = np.repeat([1, 2], 500_000)
    drawn = draw_answering(1_000_000, participation, 1, by)
    spread = min(participation, 1 - participation)
    for group, chance in ((1, participation + spread / 2), (2, participation - spread / 2)):
        share = drawn[by == group].mean()
        assert abs(share - chance) < 6 * np.sqrt(chance * (1 - chance) / 5e5)


def test_silent_users_are_charged_and_send_nothing_and_others_what_they_would_send_anyway():
    some, ledger = users(), users().open_ledger(1.0)
    everybody = some.declare(1.0, seed=1).report(PLAN)
    reports = some.answering(ledger, seed=1, who=WHO).report(PLAN)
    assert (reports.users, reports.asked) == (4, 6)
    assert ledger.spent.tolist() == [1.0] * 6
    assert ledger.ever_asked.all()
    assert np.array_equal(reports.estimate().dense()[WHO], everybody.estimate().dense()[WHO])


def test_of_a_plan_for_some_users_those_who_answer_are_told_in_its_order():
    plan = PLAN.model_copy(update={"users": (1, 2, 4)})
    ledger = users().open_ledger(1.0)
    assert users().answering(ledger, seed=1, who=WHO).report(plan).places.tolist() == [1]
    assert np.flatnonzero(ledger.ever_asked).tolist() == [1, 2, 4]


def test_what_users_cannot_be_silent_by_is_refused():
    def answering(who):
        some = users()
        return some.answering(some.open_ledger(1.0), seed=1, who=who)

    alone = Users(np.eye(3), np.array([0, 1, 0]))
    names = re.compile("no silence is named 'degrees'.*did you mean 'degree'")
    check_refused(
        lambda ask: ask(),
        [
            (lambda: users().turnout(0.5, 1, "degrees"), names),
            (lambda: alone.turnout(0.5, 1, "degree"), "hold no lists of neighbours"),
            (lambda: several().turnout(0.5, 1, "class"), "not classes: take silence random or degree"),
            (lambda: answering(np.ones(5, dtype=bool)), "who must be 6 truths"),
            (lambda: answering(np.ones(6)), "who must be 6 truths"),
        ],
    )


def test_the_bias_of_a_turnout_is_that_of_classes_and_of_links():
    some = users()
    bias = some.turnout_bias(np.array([False, True, False, True, False, True]))
    # All three are of class 1, which half of all are; each has one link, and all have 10 in 6.
    assert bias["class_bias"] == pytest.approx(0.5)
    assert bias["degree_bias"] == pytest.approx(6 / 10 - 1)
    assert some.turnout_bias(np.ones(6, dtype=bool)) == {"class_bias": 0.0, "degree_bias": 0.0}


def several():
    rows = np.stack([np.arange(6) % 2, np.arange(6) % 3 == 0], axis=1)
    return Users(np.eye(6, 3), rows, neighbours=users().raw.neighbours)


def test_users_with_several_labels_each_are_silent_by_degree_and_differ_by_no_class():
    assert several().turnout(0.5, 1, "degree").shape == (6,)
    assert several().turnout_bias(np.ones(6, dtype=bool)) == {"degree_bias": 0.0}
