"""Privacy statement: what plans ask for, what they cost together, and what an audit says of each mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.examine import Audit
from graphveil.audit.findings import exact_epsilon
from graphveil.errors import InputError
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.ledger import add_up
from graphveil.privacy.plan import plan_digest
from graphveil.privacy.record import CLASS_OF_ROW, Privacy, number, privacy_record

RAW, REPORTED = "raw", "reported"
# What a plan is about, in words; a class and a norm have their own.
DATA = {
    "features": "values of the own row of features",
    "label": "the own class (label)",
    "level": "the own privacy level",
    "links": "the own list of neighbours",
}
# Who gets what a mechanism makes.
SERVER, CURATOR = "the operator's server", "a curator, who must be trusted"
HEAD = ("recipient", "data", "how", "mechanism", "ε", "exact ε", "δ", "round", "of how many")


@dataclass(frozen=True, eq=False)
class StatedPlan:
    """A plan under its name; in a collection also whom it reached and how many have answered."""

    name: str
    plan: Plan
    asked: NDArray[np.int64] | None = None
    answered: int | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan."""
        return plan_digest(self.plan)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the plan's mechanism."""
        return self.plan.build().fingerprint

    @property
    def users(self) -> NDArray[np.int64] | None:
        """Whom it asks; None where that is everybody."""
        if self.asked is not None:
            return self.asked
        return None if self.plan.users == "all" else np.array(self.plan.users, dtype=np.int64)

    @property
    def silent(self) -> bool:
        """Whether somebody whom it reached has not answered."""
        return self.asked is not None and (self.answered or 0) < len(self.asked)

    @property
    def row(self) -> tuple[str, ...]:
        """Its line of the statement, below `HEAD`."""
        plan, built = self.plan, self.plan.build()
        ideal = f"≤ {number(built.epsilon)} (ideal)"
        who = "all users" if plan.users == "all" else f"{len(plan.users):,}"
        if self.asked is not None:
            who = f"{len(self.asked):,} asked, {self.answered or 0:,} answered"
        return (
            CURATOR if built.trust == "curator" else SERVER,
            _data(plan),
            RAW if built.trust == "curator" else REPORTED,
            plan.mechanism,
            number(plan.claim.epsilon),
            exact_epsilon(built.epsilon, built.claim.epsilon) if built.finite else ideal,
            number(plan.claim.delta) if plan.claim.delta else "0",
            str(plan.round) if self.asked is None else self.name.removeprefix("round "),
            who,
        )


@dataclass(frozen=True)
class CollectionFacts:
    """The facts of a collection besides its answers.

    ``epsilon`` and ``delta`` are the cap that people were offered.
    """

    id: str
    purpose: str
    epsilon: float
    delta: float
    users: int
    links: int
    labels: int
    enrolled: int
    volunteers: int
    forgotten: int
    retention: int | None = None
    # How many renew their cap by period.
    renewing: int = 0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The lines of a statement about what is known without asking."""
        known = {
            "whole rows of volunteers, by consent": f"{self.volunteers:,}" if self.volunteers else "",
            "links between users, taken as public": f"{self.links:,} links" if self.links else "",
            "labels that the operator knows, taken as public": f"{self.labels:,}" if self.labels else "",
            "who has enrolled, and who has answered which round": f"{self.enrolled:,}",
        }
        return [
            (SERVER, data, RAW, "-", "none", "none", "-", "-", count)
            for data, count in known.items()
            if count
        ]


@dataclass(frozen=True, eq=False)
class PrivacyStatement:
    """A privacy statement: the plans, their cost by basic composition, and the audits."""

    plans: tuple[StatedPlan, ...]
    # By fingerprint of the mechanism.
    audits: Mapping[str, Audit]
    privacy: Privacy
    collection: CollectionFacts | None = None

    @classmethod
    def of(
        cls,
        plans: Sequence[StatedPlan],
        audit: Callable[[Plan], Audit],
        collection: CollectionFacts | None = None,
    ) -> PrivacyStatement:
        """Make the statement of some plans, with an audit of every mechanism, each once.

        Parameters
        ----------
        plans
            The plans under their names.
        audit
            A function that audits the mechanism of a plan.
        collection
            The facts of the collection that the plans belong to, if any.
        """
        privacy = compose_privacy(plans, 0 if collection is None else collection.volunteers)
        distinct = {each.fingerprint: each.plan for each in reversed(plans)}
        audits = {fingerprint: audit(plan) for fingerprint, plan in distinct.items()}
        return cls(tuple(plans), audits, privacy, collection)

    @property
    def holds(self) -> bool:
        """Whether every claim holds, as far as the audit can see."""
        return all(audited.holds for audited in self.audits.values())

    @property
    def headline(self) -> str:
        """The most that anybody spends, and whom one has to trust."""
        if not self.holds:
            return "A claim does not hold: do not collect."
        if self.collection is not None:
            return self.privacy.sentence
        privacy, sentences = self.privacy, []
        costs = {"features": privacy.features, "labels": privacy.labels, "levels": privacy.level}
        if privacy.total is not None:
            parts = [f"{subject} {cost.most}" for subject, cost in costs.items() if cost is not None]
            sentences.append(f"Nobody spends more than {privacy.total.most} on this: {', '.join(parts)}.")
        if privacy.links is not None:
            sentences.append(f"A link {privacy.link_cost}.")
        server = privacy.server_trust
        local = f"{server[0].upper()}{server[1:]}."
        sentences.append(
            local if privacy.trust == "local" else "The curator who adds the noise must be trusted."
        )
        return " ".join(sentences)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the statement, below `HEAD`: who gets what."""
        known = [] if self.collection is None else self.collection.rows
        return [*(each.row for each in self.plans), *known]

    def to_dict(self) -> dict[str, Any]:
        """Return the statement in the form that `--json` prints."""
        return {
            "holds": self.holds,
            "privacy": self.privacy.to_dict(),
            "statement": self.headline,
            # A cell for a machine: an exact number in digits.
            "rows": [
                {head: getattr(text, "digits", text) for head, text in zip(HEAD, row, strict=True)}
                for row in self.rows
            ],
            "questions": [
                {"name": each.name, "digest": each.digest, "fingerprint": each.fingerprint}
                for each in self.plans
            ],
            "audits": {fingerprint: audited.as_dict() for fingerprint, audited in self.audits.items()},
        }


def compose_privacy(plans: Sequence[StatedPlan], volunteers: int = 0) -> Privacy:
    """Return what plans cost together: claims add up over all that one user is asked, and of users the most counts."""
    if not plans:
        raise InputError("there is no plan to state anything about: give plans, or a collection with a round")
    asked = [each.users for each in plans]
    users = 1 + max((int(who.max()) for who in asked if who is not None and who.size), default=0)
    links = max((each.plan.dims or 0 for each in plans if each.plan.subject == "links"), default=0)
    enough = add_up(each.plan.claim for each in plans)
    ledger = Ledger(max(users, links), enough.epsilon * 2, min(2 * enough.delta, 1 - 1e-9))
    for each, who in zip(plans, asked, strict=True):
        ledger.charge(each.plan if who is None else each.plan.part(who.tolist()))
    return privacy_record(
        ledger,
        silent=any(each.silent for each in plans),
        partial=any(who is not None for who in asked),
        volunteers=np.arange(volunteers) if volunteers else None,
        devices=True,
    )


def _data(plan: Plan) -> str:
    if plan.of == "class":
        return CLASS_OF_ROW
    if plan.of == "norm":
        return "the length (norm) of the own row of features"
    data = DATA[plan.subject]
    return data if plan.sampled is None else f"{data}, {plan.sampled} of {plan.dims}"
