"""Whose cap leaves room, by what was agreed to and asked before."""

from dataclasses import dataclass

import numpy as np

from graphveil.collect.roster import Roster, can_afford
from graphveil.privacy import Plan

DAY = 86_400
LABEL = Plan(mechanism="krr", epsilon=1.0, classes=2)


@dataclass
class Before:
    plan: Plan
    asked: np.ndarray
    expires: int = 10**9


def roster_of(epsilon, by_level=None, renewal=0, since=0, delta=0.0):
    users = len(epsilon)
    return Roster(
        node=np.arange(users),
        external=tuple(map(str, range(users))),
        pseudonym=(b"",) * users,
        epsilon=np.array(epsilon),
        delta=np.full(users, delta),
        excluded=((),) * users,
        by_level=(by_level,) * users,
        renewal=np.full(users, renewal),
        since=np.full(users, since),
        volunteer=np.zeros(users, dtype=bool),
        enrolled=np.ones(users, dtype=bool),
        derived=np.zeros(users, dtype=bool),
        forgotten=np.zeros(users, dtype=bool),
    )


def test_a_cap_is_spent_by_what_was_asked_as_a_device_counts_it():
    before = [Before(LABEL, np.array([1, 2])), Before(LABEL, np.array([2]))]
    assert can_afford(LABEL, roster_of([0.5, 2.0, 2.0]), before, 0).tolist() == [False, True, False]
    third = LABEL.model_copy(update={"epsilon": 1.0 / 3})
    twice = [Before(third, np.array([0]))] * 2
    assert can_afford(third, roster_of([1.0]), twice, 0).tolist() == [True]
    assert can_afford(third, roster_of([1.0]), twice * 2, 0).tolist() == [False]
    plan = Plan(mechanism="analytic-gaussian", epsilon=0.5, delta=1e-5, dims=2, range=(0, 1))
    assert can_afford(plan, roster_of([1.0], delta=1e-5), [], 0).tolist() == [True]
    assert can_afford(plan, roster_of([1.0]), [], 0).tolist() == [False]


def test_a_renewed_cap_counts_what_may_have_been_answered_since():
    before = [Before(LABEL, np.array([0]), expires=105 * DAY)]
    roster = roster_of([1.0], renewal=10, since=100)
    allowed = [bool(can_afford(LABEL, roster, before, day * DAY)[0]) for day in (104, 110, 111, 125)]
    assert allowed == [False, False, True, True]
    for_life = roster_of([1.0], since=100)
    assert not can_afford(LABEL, for_life, before, 125 * DAY)[0]


def test_every_level_must_afford_its_own_cost():
    plan = Plan(mechanism="ppm", epsilon=0.5, dims=4, range=(0, 1), levels=2)
    budgets = plan.build().budgets
    assert can_afford(plan, roster_of([0.0], by_level=tuple(budgets)), [], 0).tolist() == [True]
    short = (budgets[0], budgets[1] / 2)
    assert can_afford(plan, roster_of([0.0], by_level=short), [], 0).tolist() == [False]
    assert can_afford(plan, roster_of([9.0], by_level=(1.0, 1.0, 1.0)), [], 0).tolist() == [False]
