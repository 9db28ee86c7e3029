"""The ledger: what every user has spent, kept on the users' side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import MARGIN, Claim
from graphveil.channels.words import Words
from graphveil.errors import BudgetError, InputError
from graphveil.mechanisms import Reports
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.rows import row_norms
from graphveil.privacy.plan import Plan

# Every channel leaves 2^-40 of its claim unspent, so claims whose sum passes a budget by less have not overdrawn it.
DUST = MARGIN / 2


@dataclass(frozen=True)
class Charge:
    """One line of the ledger: an answered plan."""

    subject: Subject
    round: int
    mechanism: str
    claim: Claim
    users: int
    of: Literal["values", "norm"] = "values"


class Ledger:
    """Budgets and spendings of n users. Budgets add up over all that a user sends; an overdraft is refused.

    A budget is one number for everybody or one a user. The server never sees this object: it learns the public budgets,
    and that nobody overdrew.

    >>> ledger = Ledger(users=3, epsilon=1.0)
    >>> ledger.charge(Plan(mechanism="krr", epsilon=0.4, classes=7))
    >>> ledger.remaining.tolist()
    [0.6, 0.6, 0.6]
    """

    def __init__(self, users: int, epsilon: Any, delta: Any = 0.0) -> None:
        if isinstance(users, bool) or not isinstance(users, (int, np.integer)) or users < 0:
            raise InputError(f"users must be an integer of at least 0, got {users!r}")
        self.users = int(users)
        self._epsilon = _budget(epsilon, self.users, "epsilon", np.inf)
        self._delta = _budget(delta, self.users, "delta", 1.0)
        self._spent = np.zeros(self.users)
        self._spent_delta = np.zeros(self.users)
        self._charges: list[Charge] = []

    @property
    def budget(self) -> NDArray[np.float64]:
        """Each user's ε."""
        return self._epsilon.copy()

    @property
    def spent(self) -> NDArray[np.float64]:
        """The ε that each user has spent."""
        return self._spent.copy()

    @property
    def spent_delta(self) -> NDArray[np.float64]:
        """The δ that each user has spent."""
        return self._spent_delta.copy()

    @property
    def remaining(self) -> NDArray[np.float64]:
        """The ε that each user has left."""
        return np.maximum(self._epsilon - self._spent, 0.0)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All answered plans, in order."""
        return tuple(self._charges)

    def charge(self, plan: Plan, costs: Any = None) -> None:
        """Book a plan for everybody that it asks, or raise BudgetError and book nothing.

        ``costs`` are the ε of each of them, in the plan's order, where users choose how much they spend; nobody spends more
        than the plan claims, and only that is written down.
        """
        claim = plan.claim
        who = self._asked(plan)
        each = np.full(len(self._spent[who]), claim.epsilon) if costs is None else np.asarray(costs)
        if each.shape != self._spent[who].shape or not ((each >= 0) & (each <= claim.epsilon)).all():
            raise InputError(
                f"costs must be {len(self._spent[who])} numbers from 0 to {claim.epsilon:g}, one for each user that is asked"
            )
        spent, spent_delta = self._spent[who] + each, self._spent_delta[who] + claim.delta
        over = (spent > self._epsilon[who] * (1 + DUST)) | (spent_delta > self._delta[who] * (1 + DUST))
        if over.any() and costs is not None:
            raise BudgetError(
                f"{plan.mechanism} (round {plan.round}) costs every user the budget of the level that they chose, epsilon "
                f"{claim.epsilon:g} at most, and not all have that left: declare at least each level's budget"
            )
        if over.any():
            first = int(np.flatnonzero(over)[0])
            left = self._epsilon[who][first] - self._spent[who][first]
            left_delta = self._delta[who][first] - self._spent_delta[who][first]
            raise BudgetError(
                f"{plan.mechanism} (round {plan.round}) costs epsilon {claim.epsilon:g} and delta {claim.delta:g}, which "
                f"{int(over.sum())} of {over.size} users do not have left (one of them: epsilon {max(left, 0):g}, "
                f"delta {max(left_delta, 0):g}): ask for less, ask fewer users, or declare a larger budget"
            )
        self._spent[who], self._spent_delta[who] = spent, spent_delta
        self._charges.append(Charge(plan.subject, plan.round, plan.mechanism, claim, over.size, plan.of))

    def total(self, subject: Subject | None = None) -> Claim:
        """The most that anybody can have spent on a subject (or in all): claims of all rounds added up."""
        return add_up(charge.claim for charge in self._charges if subject in (None, charge.subject))

    def _asked(self, plan: Plan) -> slice | NDArray[np.int64]:
        if plan.users == "all":
            return slice(None)
        who = np.array(plan.users, dtype=np.int64)
        if who.size and int(who.max()) >= self.users:
            raise InputError(f"users must lie in 0..{self.users - 1}, the plan asks user {int(who.max())}")
        return who

    def __repr__(self) -> str:
        return f"Ledger({self.users} users, {len(self._charges)} plans answered)"


def add_up(claims: Iterable[Claim]) -> Claim:
    """Budgets add up over all that a user sends (basic composition)."""
    each = list(claims)
    return Claim(float(sum(claim.epsilon for claim in each)), float(sum(claim.delta for claim in each)))


def answer(plan: Plan, private: Any, ledger: Ledger, words: Words | None = None) -> Reports:
    """What users do with a plan: charge it, then report. Nothing is drawn if anybody would overdraw."""
    mechanism = plan.build()
    private = row_norms(private) if plan.of == "norm" else private
    ledger.charge(plan, mechanism.costs(private))
    return mechanism.randomize(private, words)


def _budget(value: Any, users: int, name: str, limit: float) -> NDArray[np.float64]:
    try:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (users,)))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be one number or {users}, one a user, got {value!r}") from None
    if not (np.isfinite(array).all() and (array >= 0).all() and (array < limit).all()):
        raise InputError(
            f"{name} must be finite, at least 0" + (" and below 1" if limit == 1 else "") + " for every user"
        )
    return array
