"""The users of a collection, as a method sees them: each question is a closed round's reports, or the next round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.collect.frozen import differences, refuse_other_kind, told_as
from graphveil.errors import ClaimError, InputError, PrivacyError
from graphveil.mechanisms import Reports, entry
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.digest import plan_digest

Nodes = NDArray[np.int64]


class Round(Protocol):
    """A published plan: whom it asks, how many have answered, and whether more may."""

    @property
    def number(self) -> int:
        """1, 2, … in the order of publication."""

    @property
    def plan(self) -> Plan:
        """The whole plan, frozen."""

    @property
    def digest(self) -> str:
        """Its digest."""

    @property
    def asked(self) -> Nodes:
        """Whom of its users it reaches: those who have enrolled and would not refuse it."""

    @property
    def study(self) -> str:
        """What it was published for."""

    @property
    def closed(self) -> bool:
        """Whether no more answers are taken."""

    @property
    def answered(self) -> int:
        """How many answers are there."""


class Rounds(Protocol):
    """What is needed of a collection: its rounds, read and published."""

    def rounds(self) -> Sequence[Round]:
        """All rounds, in their order."""

    def publish(self, plan: Plan, expires: int, study: str = "") -> Round:
        """Freeze a plan and ask everybody who would answer it."""

    def reports(self, number: int) -> Reports:
        """What arrived in a closed round, in the whole plan's order."""


class RoundOpenError(Exception):
    """A method cannot go on before people have answered: no mistake, but the end of what can be done now."""

    def __init__(self, rounds: Sequence[Round], published: bool) -> None:
        self.rounds, self.published = tuple(rounds), published
        super().__init__(" ".join(map(self._sentence, self.rounds)))

    def _sentence(self, each: Round) -> str:
        asked, subject = len(each.asked), "class" if each.plan.of == "class" else each.plan.subject
        if self.published:
            return f"Round {each.number} is published: it asks {asked:,} users ({subject}, {each.plan.mechanism})."
        return f"Round {each.number} is open: {each.answered:,} of {asked:,} users have answered."


@dataclass(frozen=True)
class Replayed:
    """A question that was answered: as the method asked it, the round that holds its answers, and these."""

    plan: Plan
    round: Round
    reports: Reports


class CollectedUsers:
    """Those who answer a collection's questions; to a method they are users like any.

    A method is a pure function of graph, answers and seed. So it is run from the start each time: every question whose round is
    closed gets the reports of that round, the next one is published, and the method stops with a RoundOpenError. A published plan is
    frozen. A method that now asks something else, because settings, graph or answers have changed, is stopped; with
    ``as_published`` it goes on with what was answered to the published question, as far as that answers its own.

    A question that was published for another study is not asked again: its answers are there. Plans ``ahead`` are those
    that the method is going to ask whatever is answered: they are published together with the first, so that people wait once.
    Every round is charged to the public books as soon as its answers are used.
    """

    def __init__(
        self,
        collection: Rounds,
        ledger: Ledger,
        *,
        study: str,
        expires: int,
        as_published: bool = False,
        ahead: Sequence[Plan] = (),
    ) -> None:
        self._collection, self._ledger = collection, ledger
        self._study, self._expires, self._as_published = study, expires, as_published
        self._ahead = tuple(ahead)
        self._replayed: list[Replayed] = []

    @property
    def replayed(self) -> tuple[Replayed, ...]:
        """All questions that were answered so far, in the order in which the method asked them."""
        return tuple(self._replayed)

    def report(self, plan: Plan) -> Reports:
        """What was answered to a plan; RoundOpenError where nobody could answer it yet."""
        plan = Plan.checked(plan)
        refuse_unanswerable(plan)
        found = self._find(plan)
        if found is None:
            raise RoundOpenError(self._publish(plan), published=True)
        if not found.closed:
            raise RoundOpenError([found], published=False)
        reports = told_as(self._collection.reports(found.number), found.plan, plan, self._ledger.users)
        if found.number not in self._used:
            charge_round(self._ledger, found.plan, found.asked)
        self._replayed.append(Replayed(plan, found, reports))
        return reports

    @property
    def _used(self) -> set[int]:
        return {each.round.number for each in self._replayed}

    def _find(self, plan: Plan) -> Round | None:
        """The round that asks this plan; or, where the study has asked another in its place, that one or a refusal."""
        rounds, digest = self._collection.rounds(), plan_digest(plan)
        same = [each for each in rounds if each.digest == digest]
        if same:
            return same[0]
        own = [each for each in rounds if each.study == self._study and each.number not in self._used]
        if not own:
            return None
        frozen = own[0]
        if not self._as_published:
            raise InputError(
                f"round {frozen.number} of {self._study} is published and frozen, and the method now asks another question "
                f"({differences(frozen.plan, plan)} differ): settings, graph, volunteers or answers have changed since. Run it as it "
                "was published, go on with the published question by --as-published, or ask anew by --study NAME, which costs "
                "users a budget of its own"
            )
        refuse_other_kind(frozen.number, frozen.plan, plan)
        return frozen

    def _publish(self, plan: Plan) -> list[Round]:
        """Publish a plan, and with a study's first one those that will be asked anyway."""
        known = {each.digest for each in self._collection.rounds()}
        first = not self._replayed and plan_digest(plan) in map(plan_digest, self._ahead)
        wanted = [plan, *(self._ahead if first else ())]
        published = []
        for each in wanted:
            digest = plan_digest(each)
            if digest not in known:
                known.add(digest)
                published.append(self._collection.publish(each, self._expires, self._study))
        return published


def charge_round(ledger: Ledger, plan: Plan, asked: Nodes) -> None:
    """Write a round into public books; who has no budget in them is left out."""
    there = asked[ledger.budget[asked] > 0]
    if there.size:
        ledger.charge(plan.part(there.tolist()))


def refuse_unanswerable(plan: Plan) -> None:
    """Refuse, before it is published, what no device would answer."""
    built = plan.build()
    if built.trust == "curator":
        raise PrivacyError(
            f"{plan.mechanism} is a curator's mechanism: no device answers it; take one that users answer themselves"
        )
    if not (entry(plan.mechanism).sound and built.holds):
        raise ClaimError(
            f"{plan.mechanism} does not keep the privacy that it claims, so no device answers it: `graphveil audit "
            f"{plan.mechanism}` says why"
        )
    if plan.subject == "level":
        raise InputError(
            f"a collection asks for features, labels and links, and {plan.mechanism} asks for levels alone: take another mechanism"
        )
