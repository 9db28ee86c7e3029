"""Simulated users: those whom a method asks while an experiment runs."""

from __future__ import annotations

from threading import Lock
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import Words
from graphveil.errors import PrivacyError
from graphveil.mechanisms import Reports, entry, names
from graphveil.privacy import Ledger, Plan, answer


class Holder(Protocol):
    """Whoever knows what users hold."""

    def asked(self, plan: Plan) -> Any:
        """What a plan asks for, of those that it asks, in its order."""


class SimulatedUsers:
    """Users who answer plans, and offer nothing else: what they hold, their books and their words are out of reach.

    They select the rows that a plan asks for and call `answer`, as a device does. They cannot be copied, because a copy would
    have books of its own. With ``answering``, a truth a user, the others are silent: they are asked and charged, and their
    reports never arrive. With ``curator`` they stand for a curator too, who was trusted with everybody's data: whoever runs the
    simulation says so, and never a plan.
    """

    __slots__ = (
        "_answering",
        "_blind",
        "_curator",
        "_holder",
        "_known",
        "_ledger",
        "_lock",
        "_unsound",
        "_words",
    )

    def __init__(
        self,
        holder: Holder,
        ledger: Ledger,
        words: Words,
        *,
        blind: bool = False,
        unsound: bool = False,
        answering: NDArray[np.bool_] | None = None,
        curator: bool = False,
    ) -> None:
        self._holder, self._ledger, self._words = holder, ledger, words
        self._blind, self._unsound, self._answering = blind, unsound, answering
        self._curator = curator
        # Mechanisms that were there before anybody could ask: one that is registered later is not answered.
        self._known = frozenset(entry(name) for name in names())
        # One after the other: two threads that share words might draw the same ones.
        self._lock = Lock()

    def report(self, plan: Plan) -> Reports:
        """Answer a plan: charge it, then randomize. Where users choose a level, each is charged that level's budget."""
        try:
            return self._answer(Plan.checked(plan))
        except Exception as error:  # noqa: BLE001
            # The frames between here and there hold what users hold: they stay here.
            raise error.with_traceback(None) from None

    def _answer(self, plan: Plan) -> Reports:
        if entry(plan.mechanism) not in self._known:
            raise PrivacyError(
                f"{plan.mechanism} was registered after these users declared their budget: register mechanisms first"
            )
        with self._lock:
            reports = answer(
                plan,
                self._holder.asked(plan),
                self._ledger,
                self._words,
                blind=self._blind,
                unsound=self._unsound,
                curator=self._curator,
            )
        if self._answering is None:
            return reports
        return reports.answered_by(self._answering[self._ledger.asked(plan)])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("users who answer cannot be copied: a copy would have books of its own")

    def __repr__(self) -> str:
        return "SimulatedUsers()"
