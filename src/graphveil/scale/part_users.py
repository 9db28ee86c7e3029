"""Users of a graph that several workers share: they answer in one process, and each worker asks its own users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import GraphveilError, PrivacyError
from graphveil.graphs.collective import Collective
from graphveil.graphs.part import GraphPart, Group
from graphveil.mechanisms import PersonalMechanism, Reports, estimate_level_shares
from graphveil.privacy import Plan, Respondents
from graphveil.privacy.plan import plan_digest

Numbers = NDArray[np.int64]
# A plan for the whole graph, and the places, among those whom it asks, of the users whose reports are wanted.
Question = tuple[Plan, Numbers]


class SharedUsers:
    """Users who answer workers: each plan once, however many workers ask it and however often.

    What users hold stays in this process, and so do their books. A plan that was answered is not charged again: a worker that
    was lost and starts anew gets the same reports. Workers get those of their own users alone.
    """

    def __init__(self, users: Respondents) -> None:
        self._users, self._answered = users, dict[str, Reports | GraphveilError]()

    def answer(self, question: Question) -> Any:
        """Return what a worker is told: the arrays of its users' reports, without their mechanism; or the error why there are none."""
        plan, places = question
        digest = plan_digest(plan)
        if digest not in self._answered:
            self._answered[digest] = self._report(plan)
        answer = self._answered[digest]
        if isinstance(answer, GraphveilError):
            return answer
        reports = answer.of_asked(places)
        return reports.indptr, reports.dims, reports.codes, reports.answered

    def _report(self, plan: Plan) -> Reports | GraphveilError:
        try:
            return self._users.report(plan)
        except GraphveilError as error:
            return error
        except Exception as error:  # noqa: BLE001
            # Users may have been charged, so they are not asked again; and what it says may be about what they hold.
            return PrivacyError(
                f"the users could not answer {plan.mechanism} ({type(error).__name__}), and are not asked again: run it in one "
                "process to see why"
            )


class PartUsers:
    """A worker asks its own users by their numbers in the part. All workers ask together: what they ask is put into one plan for
    the whole graph, by its own numbers, which is the plan that one process asks. Each gets the reports of its users."""

    def __init__(self, part: GraphPart, ask: Callable[[Question], Any]) -> None:
        self._part, self._ask = part, ask

    def report(self, plan: Plan) -> Reports:
        """The reports of this worker's users, in the order in which its plan names them."""
        return with_common_shares(self._reports(plan), self._part.collective)

    def _reports(self, plan: Plan) -> Reports:
        part = self._part
        if plan.users == "all":
            return self._answered(plan, part.original)
        group = Group.of(part, np.array(plan.users, dtype=np.int64))
        tables = {
            name: group.together(np.asarray(table.array, dtype=np.int64))
            for name in ("lists", "offsets")
            if (table := getattr(plan, name)) is not None
        }
        asked = tuple(group.rows(part.original).tolist())
        return self._answered(plan.model_copy(update={"users": asked, **tables}), group.places)

    def _answered(self, plan: Plan, places: Numbers) -> Reports:
        answer = self._ask((plan, places))
        if isinstance(answer, GraphveilError):
            raise answer
        return Reports(plan.build(), *answer)


@dataclass(frozen=True, eq=False, repr=False)
class _SharedLevels(PersonalMechanism):
    """A mechanism whose levels' shares were estimated from more reports than it is asked to decode: ``found``."""

    found: tuple[float, ...] = ()

    def level_shares(self, reports: Reports) -> NDArray[np.float64]:
        return np.array(self.found)


def with_common_shares(reports: Reports, collective: Collective) -> Reports:
    """Reports of one worker's users that are decoded with the shares of everybody's levels; all workers call this together."""
    mechanism = reports.mechanism
    if not isinstance(mechanism, PersonalMechanism) or mechanism.shares is not None:
        return reports
    counts = np.bincount(mechanism.level_codes(reports), minlength=mechanism.transition.shape[1])
    shares = estimate_level_shares(collective.sum(counts), mechanism.transition)
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    return replace(reports, mechanism=_SharedLevels(**held, found=tuple(shares.tolist())))
