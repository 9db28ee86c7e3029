"""The users' side of a plan: every report, of a device or of a simulation, comes from `answer`."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np

from graphveil.channels.sampling import RandomBits, SeededBits
from graphveil.errors import ClaimError, ClippedWarning, InputError, PrivacyError
from graphveil.mechanisms import Mechanism, NeighbourLists, Reports, entry
from graphveil.mechanisms.rows import row_norms
from graphveil.privacy.ledger import Ledger
from graphveil.privacy.plan import Plan


class Respondents(Protocol):
    """Those whom a server asks. A method sees nothing else of them.

    Behind it stand simulated users, blinded ones, somebody who listens, what was recorded, or a collection of real devices.
    """

    def report(self, plan: Plan) -> Reports:
        """The reports of those whom the plan asks."""


class Nobody:
    """No users at all: what a job has before anybody has declared a budget."""

    def report(self, plan: Plan) -> Reports:
        """Refused."""
        raise PrivacyError("nobody has declared a budget, so nobody answers: ask users.declare(epsilon)")


class Recorder:
    """Users who answer as usual while their reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users = users
        self.heard: list[tuple[Plan, Reports]] = []

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember what was asked and answered."""
        reports = self._users.report(plan)
        self.heard.append((plan, reports))
        return reports

    @property
    def answers(self) -> list[Reports]:
        """The answers to all plans, in their order."""
        return [reports for _, reports in self.heard]


class Replay:
    """All that is left of users when only their reports are there."""

    def __init__(self, answers: list[Reports]) -> None:
        self._answers = list(answers)

    def report(self, plan: Plan) -> Reports:
        """Return the next of the given answers, whatever is asked."""
        return self._answers.pop(0)


def answer(
    plan: Plan,
    private: Any,
    ledger: Ledger,
    random_bits: RandomBits | None = None,
    *,
    blind: bool = False,
    unsound: bool = False,
    curator: bool = False,
) -> Reports:
    """Charge a plan to everybody whom it asks, then report.

    Whether there is an answer depends on the plan, on the shape of ``private`` and on the public books, never
    on a value: what does not fit is refused before anything is charged, and nothing is drawn that is not
    charged. Values outside the public range are clipped, and those that are not numbers are answered as well,
    silently (the owner can ask `look_over`). A mechanism whose claim fails is refused.

    Parameters
    ----------
    plan
        The question.
    private
        The data of those whom the plan asks, in its order.
    ledger
        The ledger that is charged.
    random_bits
        The source of random words; the operating system's by default.
    blind
        The control of a simulation: questions about features are charged alike and answered by the blinded
        mechanism.
    unsound
        Whether a simulation, with seeded words, allows a mechanism whose claim fails.
    curator
        Whether the caller is trusted with everybody's data: a curator's mechanism needs all of it, so no
        device answers it.
    """
    plan = Plan.checked(plan)
    mechanism = plan.build()
    if not (unsound and isinstance(random_bits, SeededBits)):
        _refuse_unsound(plan, mechanism)
    if mechanism.trust == "curator" and not curator:
        raise PrivacyError(
            f"{plan.mechanism} is a curator's mechanism: it takes what all users hold in the clear, so no user answers it; take a "
            "local one, or let the curator who was trusted with everybody's data say curator=True"
        )
    if plan.of == "norm":
        private = row_norms(private)
    _check_fit(plan, mechanism, private, ledger)
    costs = mechanism.costs(private) if mechanism.budgets else None
    ledger.charge(plan, _spent(costs, plan, len(ledger.asked(plan))))
    if blind and plan.subject == "features":
        mechanism = mechanism.blind()
    with np.errstate(all="ignore"):
        return mechanism.randomize(private, random_bits)


def look_over(plan: Plan, private: Any) -> int:
    """Return how many users hold data that does not fit the plan and is answered as something else.

    For the owner's eyes, on the device: the number is private. It is told in a ClippedWarning as well.
    """
    count = plan.build().altered(row_norms(private) if plan.of == "norm" else private)
    if count:
        warnings.warn(
            f"{count} rows do not fit what the plan says of them (its range, its classes, its length) and would be answered "
            "as the nearest that does, or at random: tell nobody",
            ClippedWarning,
            stacklevel=2,
        )
    return count


def _spent(costs: Any, plan: Plan, users: int) -> Any:
    """Return the ε recorded for each user.

    It decides nothing, so costs that do not fit are not refused: the claim is booked.
    """
    charged = np.asarray(costs, dtype=np.float64) if costs is not None else None
    if charged is None or charged.shape != (users,):
        return None
    return np.clip(np.nan_to_num(charged, nan=plan.claim.epsilon), 0.0, plan.claim.epsilon)


def _refuse_unsound(plan: Plan, mechanism: Mechanism) -> None:
    if not (entry(plan.mechanism).sound and mechanism.holds):
        raise ClaimError(
            f"{plan.mechanism} does not keep the privacy that it claims, so nobody answers it: `graphveil audit "
            f"{plan.mechanism}` says why; a simulation may study it with seeded words and unsound=True"
        )


def _check_fit(plan: Plan, mechanism: Mechanism, private: Any, ledger: Ledger) -> None:
    """Rows, plan and ledger must fit: as many rows as users are asked, and of each user the own."""
    asked = ledger.asked(plan)
    held = mechanism.count(private)
    if held != asked.size:
        raise InputError(f"the plan asks {asked.size} users, and {held} rows were given: give theirs")
    if plan.subject == "links":
        # Rows of a matrix would not say whose they are, and both ends of a link would answer for it.
        if not isinstance(private, NeighbourLists):
            raise InputError("links are answered from NeighbourLists, which say whose lists they are")
        if not np.array_equal(private.owners, asked):
            raise InputError("the lists of neighbours must be those of the users asked, in the plan's order")
