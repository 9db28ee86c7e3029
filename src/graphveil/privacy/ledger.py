"""The ledger: what every user has spent, kept on the users' side, and the public books that decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import MARGIN, Claim
from graphveil.checks import check_whole
from graphveil.errors import BudgetError, InputError, PrivacyError
from graphveil.mechanisms.base import Mechanism, Subject
from graphveil.privacy.plan import Plan

# Every channel leaves 2^-40 of its claim unspent, so claims whose sum passes a budget by less have not overdrawn it.
DUST = MARGIN / 2

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Charge:
    """One line of the ledger: an answered plan."""

    subject: Subject
    round: int
    mechanism: str
    claim: Claim
    users: int
    of: Literal["values", "norm", "class"] = "values"
    # What the mechanism's tables say of its ε, rounded up.
    exact: float = math.nan
    # What was asked through.
    built: Mechanism | None = None


class Ledger:
    """Budgets and spendings of n users. Budgets add up over all that a user sends; an overdraft is refused.

    A budget is one number for everybody or one a user; both are public. Where users choose a privacy level, ``by_level`` are
    the public budgets of the levels, of which each user has the one of the own level besides, and ``levels`` are the levels
    themselves (1, 2, …), which are private.

    Whether a plan is answered must not tell a level. So it is decided by books that anybody could keep: what a user would
    have spent, for every level that there is. A plan is refused by everybody if a user of *any* level would overdraw. What a
    user really spends is booked beside that, and decides nothing.

    The server never sees this object: it learns the public budgets, and that nobody overdrew. There is one of it: a copy
    would let a budget be spent twice.

    Users have the numbers ``first``, ``first`` + 1, …: the ledger of a device has one user, whom plans ask by that number.

    >>> ledger = Ledger(users=3, epsilon=1.0)
    >>> ledger.charge(Plan(mechanism="krr", epsilon=0.4, classes=7))
    >>> ledger.remaining.tolist()
    [0.6, 0.6, 0.6]
    """

    def __init__(
        self,
        users: int,
        epsilon: Any,
        delta: Any = 0.0,
        *,
        by_level: Sequence[float] | None = None,
        levels: Any = None,
        first: int = 0,
    ) -> None:
        self.users = check_whole(users, "users", least=0)
        self.first = check_whole(first, "first", least=0)
        self._public = _budget(epsilon, self.users, "epsilon", np.inf)
        self._delta = _budget(delta, self.users, "delta", 1.0)
        self._by_level = np.zeros(1) if by_level is None else _level_budgets(by_level)
        self._levels = _own_levels(levels, self.users, 0 if by_level is None else len(self._by_level))
        self._spent = np.zeros(self.users)
        self._spent_delta = np.zeros(self.users)
        # What a user of each level (row) would have spent.
        self._booked = np.zeros((len(self._by_level), self.users))
        self._booked_delta = np.zeros(self.users)
        self._asked = np.zeros(self.users, dtype=bool)
        self._charges: list[Charge] = []
        # Whom each of them asked.
        self._charged: list[NDArray[np.int64]] = []
        self._lock = Lock()

    @property
    def budget(self) -> Floats:
        """Each user's ε."""
        return np.asarray(self._public + self._by_level[self._levels - 1])

    @property
    def spent(self) -> Floats:
        """The ε that each user has spent."""
        return self._spent.copy()

    @property
    def spent_delta(self) -> Floats:
        """The δ that each user has spent."""
        return self._spent_delta.copy()

    @property
    def remaining(self) -> Floats:
        """The ε that each user has left."""
        return np.maximum(self.budget - self._spent, 0.0)

    @property
    def left(self) -> tuple[Floats, Floats]:
        """The ε and the δ that the public books leave to each user, whatever the level: what is more is refused."""
        allowed = self._public + self._by_level[:, None]
        return (
            np.maximum(allowed - self._booked, 0.0).min(axis=0),
            np.maximum(self._delta - self._booked_delta, 0.0),
        )

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All answered plans, in order."""
        return tuple(self._charges)

    @property
    def ever_asked(self) -> NDArray[np.bool_]:
        """The users who have been asked, and so charged, at all.

        Whether they answered is not recorded here.
        """
        return self._asked.copy()

    def asked_about(self, subjects: Collection[Subject]) -> NDArray[np.bool_]:
        """Return who has been asked, and so charged, about any of these subjects."""
        asked = np.zeros(self.users, dtype=bool)
        for charge, who in zip(self._charges, self._charged, strict=True):
            if charge.subject in subjects:
                asked[who - self.first] = True
        return asked

    def asked(self, plan: Plan) -> NDArray[np.int64]:
        """The numbers of those whom a plan asks, in its order."""
        if plan.users == "all":
            return np.arange(self.first, self.first + self.users)
        who = np.array(plan.users, dtype=np.int64)
        strangers = who[(who < self.first) | (who >= self.first + self.users)]
        if strangers.size:
            last = self.first + self.users - 1
            raise InputError(f"users must lie in {self.first}..{last}, the plan asks user {strangers.max()}")
        return who

    def carry_over(self, costs: Sequence[float], delta: float) -> None:
        """Book for everybody what was charged before this ledger was opened: a cost for each level, as `costs_by_level` tells.

        Whoever keeps books on a disk reads them back with this. It is what counts, even where it is more than the budget.
        """
        by_level = _level_budgets(costs)
        if by_level.shape != self._by_level.shape or not delta >= 0:
            raise InputError(f"what was charged must be {len(self._by_level)} costs and a delta of 0 or more")
        with self._lock:
            self._booked = _added(self._booked, by_level[:, None])
            self._booked_delta = _added(self._booked_delta, delta)

    def charge(self, plan: Plan, costs: Any = None) -> None:
        """Book a plan for everybody that it asks, or raise BudgetError and book nothing.

        ``costs`` are the ε of each of them, in the plan's order, where users choose how much they spend; nobody spends more
        than the plan claims, and only that is written down.
        """
        plan = Plan.checked(plan)
        claim, who, by_level = plan.claim, self.asked(plan), self.costs_by_level(plan)
        charged = np.full(who.size, claim.epsilon) if costs is None else np.asarray(costs)
        if charged.shape != who.shape or not ((charged >= 0) & (charged <= claim.epsilon)).all():
            raise InputError(
                f"costs must be {who.size} numbers in 0..{claim.epsilon:g}, one for each user asked"
            )
        exact, at = plan.build().epsilon, who - self.first
        allowed = (self._public[at] + self._by_level[:, None]) * (1 + DUST)
        with self._lock:
            booked = _added(self._booked[:, at], by_level[:, None])
            spent_delta = _added(self._booked_delta[at], claim.delta)
            if (booked > allowed).any() or (spent_delta > self._delta[at] * (1 + DUST)).any():
                raise BudgetError(_refusal(plan, len(self._by_level)))
            self._booked[:, at] = booked
            self._asked[at] = True
            self._spent[at] += charged
            self._spent_delta[at] += claim.delta
            self._booked_delta[at] = spent_delta
            if not who.size:
                return
            self._charged.append(who)
            self._charges.append(
                Charge(
                    plan.subject, plan.round, plan.mechanism, claim, who.size, plan.of, exact, plan.build()
                )
            )

    def total(self, subject: Subject | None = None) -> Claim:
        """The most that anybody can have spent on a subject (or in all): each user's claims added up, and of users the most."""
        return self.total_of(lambda charge: subject in (None, charge.subject))

    def total_of(self, counts: Callable[[Charge], bool]) -> Claim:
        """The most that anybody can have spent on some of the charges.

        Links are different: a budget for them is one link's, and both its ends may have been asked, each by another plan.
        """
        charged = [pair for pair in zip(self._charges, self._charged, strict=True) if counts(pair[0])]
        links = [charge.claim for charge, _ in charged if charge.subject == "links"]
        others = [(charge.claim, who) for charge, who in charged if charge.subject != "links"]
        return add_up([*links, most_spent(others)]) if links else most_spent(others)

    def costs_by_level(self, plan: Plan) -> Floats:
        """Return the cost of a plan for a user of each level that was declared."""
        budgets = plan.build().budgets
        count = len(self._by_level)
        if not budgets or count == 1:
            return np.full(count, plan.claim.epsilon)
        if len(budgets) != count:
            raise InputError(f"the plan has budgets for {len(budgets)} levels, {count} were declared")
        return np.array(budgets)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("there is one ledger: a copy would let its budgets be spent twice")

    def __repr__(self) -> str:
        return f"Ledger({self.users} users, {len(self._charges)} plans answered)"


def add_up(claims: Iterable[Claim]) -> Claim:
    """Budgets add up over all that a user sends (basic composition)."""
    summands = list(claims)
    return Claim(math.fsum(claim.epsilon for claim in summands), math.fsum(claim.delta for claim in summands))


def most_spent(spendings: Iterable[tuple[Claim, NDArray[np.int64] | None]]) -> Claim:
    """The most that one user spends, where each claim is spent by these users (None: by all): the largest ε and the largest δ.

    >>> one, other = (Claim(1.0), np.array([0, 1])), (Claim(2.0), np.array([2]))
    >>> most_spent([one, other]), most_spent([one, one, (Claim(0.5), None)])
    (Claim(epsilon=2.0, delta=0.0), Claim(epsilon=2.5, delta=0.0))
    """
    listed = list(spendings)
    everybody = [claim for claim, who in listed if who is None]
    named = [(claim, who) for claim, who in listed if who is not None and who.size]
    if not named:
        return add_up(everybody)
    users, places = np.unique(np.concatenate([who for _, who in named]), return_inverse=True)
    owners = np.repeat(np.arange(len(named)), [who.size for _, who in named])

    def most(cost: Callable[[Claim], float]) -> float:
        spent = np.bincount(places, np.array([cost(claim) for claim, _ in named])[owners], len(users))
        asked = set(owners[places == int(spent.argmax())].tolist())
        own = [claim for number, (claim, _) in enumerate(named) if number in asked]
        return math.fsum(cost(claim) for claim in [*everybody, *own])

    return Claim(most(lambda claim: claim.epsilon), most(lambda claim: claim.delta))


def _added(booked: Floats, cost: Any) -> Floats:
    """A sum that is never below the true one: else answers too cheap to change a float would be free."""
    return np.where(np.asarray(cost) > 0, np.nextafter(booked + cost, np.inf), booked)


def _refusal(plan: Plan, levels: int) -> str:
    """Return the reason why a plan is refused; it depends on the plan alone."""
    claim = plan.claim
    whom = "somebody whom it asks" if levels == 1 else "a user of some declared level"
    return (
        f"{plan.mechanism} (round {plan.round}) costs epsilon {claim.epsilon:g} and delta {claim.delta:g}, which is "
        f"more than the declared budgets leave to {whom}: ask for less, ask fewer users, or declare a larger budget"
    )


def _budget(value: Any, users: int, name: str, limit: float) -> Floats:
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iuf" or numbers.shape not in ((), (users,)):
        raise InputError(f"{name} must be one number or {users}, one a user")
    array = np.array(np.broadcast_to(numbers.astype(np.float64), (users,)))
    if not (np.isfinite(array).all() and (array >= 0).all() and (array < limit).all()):
        raise InputError(
            f"{name} must be finite, at least 0" + (" and below 1" if limit == 1 else "") + " for every user"
        )
    return array


def _level_budgets(budgets: Any) -> Floats:
    numbers = np.asarray(budgets)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iuf":
        raise InputError("by_level must be a list of numbers, the budget of each level")
    return _budget(numbers, numbers.size, "by_level", np.inf)


def _own_levels(levels: Any, users: int, count: int) -> NDArray[np.int64]:
    """Everybody's level; 1 where there are none."""
    if count == 0:
        if levels is not None:
            raise InputError("levels have no budgets: give those of all levels with by_level")
        return np.ones(users, dtype=np.int64)
    array = np.asarray(levels)
    if levels is None or array.shape != (users,) or array.dtype.kind not in "iu":
        raise InputError(f"levels must be {users} integers, one a user, where there is by_level")
    if users and not 1 <= int(array.min()) <= int(array.max()) <= count:
        raise InputError(f"levels must lie in 1..{count}, for which by_level has budgets")
    return array.astype(np.int64)
