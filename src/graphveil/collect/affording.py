"""Whose cap leaves room for a plan: books that anybody could keep, as a device keeps its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.collect.roster import Roster
from graphveil.collect.schema import SECONDS_A_DAY
from graphveil.privacy import Plan
from graphveil.privacy.ledger import DUST

Truths = NDArray[np.bool_]


class CapQuestion(Protocol):
    """What was asked before: a published round."""

    @property
    def plan(self) -> Plan: ...

    @property
    def asked(self) -> NDArray[np.int64]: ...

    @property
    def expires(self) -> int: ...


def can_afford(plan: Plan, roster: Roster, before: Sequence[CapQuestion], now: int) -> Truths:
    """For everybody on the roster, whether the cap leaves room for the plan, in a user of whichever level.

    Everybody who was asked before counts as having spent it, whether an answer came or not.
    """
    charged = [(each.plan, _charged(each, roster, now)) for each in before]
    everybody = np.ones(len(roster), dtype=bool)
    fits = _within(roster.delta, [(who, each.claim.delta) for each, who in [*charged, (plan, everybody)]])
    for by_level in set(roster.by_level):
        own = np.array([each == by_level for each in roster.by_level], dtype=bool)
        for level, more in enumerate(by_level or (0.0,)):
            costs = [(who, _cost(each, level, by_level)) for each, who in [*charged, (plan, everybody)]]
            fits &= ~own | _within(roster.epsilon + more, costs)
    return fits


def _charged(asked: CapQuestion, roster: Roster, now: int) -> Truths:
    """Who has this round in the own books; of a cap that is renewed, only what may have been answered since counts.

    Of the enrolment only the day is known, so a period may begin up to a day earlier or later: the earlier one is taken.
    """
    length = np.maximum(roster.renewal, 1) * SECONDS_A_DAY
    enrolled = roster.since * SECONDS_A_DAY
    begun = enrolled + np.maximum(now - enrolled - SECONDS_A_DAY, 0) // length * length
    counts = (roster.renewal == 0) | (asked.expires >= begun)
    return np.asarray(np.isin(roster.node, asked.asked) & counts)


def _cost(plan: Plan, level: int, by_level: tuple[float, ...] | None) -> float:
    """What a plan costs a user of this level; a plan for other levels than were agreed to costs more than anybody has."""
    budgets = plan.build().level_budgets
    if by_level is None or budgets is None or len(by_level) == 1:
        return plan.claim.epsilon
    return float(budgets[level]) if len(budgets) == len(by_level) else np.inf


def _within(cap: NDArray[np.float64], costs: Sequence[tuple[Truths, float]]) -> Truths:
    """Whose cap is not passed; sums are rounded up, as a device's ledger does."""
    booked = np.zeros(len(cap))
    for who, cost in costs:
        if cost > 0:
            booked[who] = np.nextafter(booked[who] + cost, np.inf)
    return np.asarray(booked <= cap * (1 + DUST))
