"""A privacy statement: one page for whoever must sign off a collection, from its plans and what an audit says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.exact_text import ExactText, exact_epsilon
from graphveil.audit.examine import Audit
from graphveil.errors import InputError
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.mechanisms import Mechanism
from graphveil.number_format import counted
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.digest import plan_digest
from graphveil.privacy.ledger import add_up
from graphveil.privacy.record import CLASS_OF_ROW, Privacy, number, privacy_record
from graphveil.version import __version__

RAW, REPORTED = "raw", "reported"
# What a question is about, in words; a class and a norm have their own.
DATA = {
    "features": "values of the own row of features",
    "label": "the own class (label)",
    "level": "the own privacy level",
    "links": "the own list of neighbours",
}
# Who gets what a mechanism makes.
SERVER, CURATOR = "the operator's server", "a curator, who must be trusted"


@dataclass(frozen=True, eq=False)
class Question:
    """A plan under its name; in a collection also whom it reached and how many have answered."""

    name: str
    plan: Plan
    asked: NDArray[np.int64] | None = None
    answered: int | None = None


@dataclass(frozen=True)
class Gathered:
    """What a collection holds besides answers: ``epsilon`` and ``delta`` are the cap that people were offered."""

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


@dataclass(frozen=True, eq=False)
class Statement:
    """What is asked, what it costs by basic composition, and what was audited."""

    questions: tuple[Question, ...]
    # By fingerprint of the mechanism.
    audits: Mapping[str, Audit]
    privacy: Privacy
    gathered: Gathered | None = None

    @property
    def holds(self) -> bool:
        """Whether every claim holds, as far as the audit can see."""
        return all(audited.holds for audited in self.audits.values())

    @property
    def headline(self) -> str:
        """The most that anybody spends, and whom one has to trust."""
        if not self.holds:
            return "A claim does not hold: do not collect."
        if self.gathered is not None:
            return self.privacy.sentence
        total, links = self.privacy.total, self.privacy.links
        costs = {
            "features": self.privacy.features,
            "labels": self.privacy.labels,
            "levels": self.privacy.level,
        }
        parts = [f"{subject} {cost.most}" for subject, cost in costs.items() if cost is not None]
        most = [] if total is None else [f"Nobody spends more than {total.most} on this: {', '.join(parts)}."]
        if links is not None:
            most.append(f"A link {self.privacy.link_cost}.")
        server = self.privacy.server_trust
        trusted = self.privacy.trust == "local"
        most.append(
            f"{server[0].upper()}{server[1:]}."
            if trusted
            else "The curator who adds the noise must be trusted."
        )
        return " ".join(most)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "privacy": self.privacy.to_dict(),
            "statement": self.headline,
            "rows": [dict(zip(HEAD, map(_digits, row), strict=True)) for row in _rows(self)],
            "questions": [
                {
                    "name": each.name,
                    "digest": plan_digest(each.plan),
                    "fingerprint": each.plan.build().fingerprint,
                }
                for each in self.questions
            ],
            "audits": {mark: audited.as_dict() for mark, audited in self.audits.items()},
        }


HEAD = ("recipient", "data", "how", "mechanism", "ε", "exact ε", "δ", "round", "of how many")
NUMBERS = frozenset({"ε", "exact ε", "δ", "round"})


def composed(questions: Sequence[Question], volunteers: int = 0) -> Privacy:
    """What all questions cost together: claims add up over all that one user is asked, and of users the most counts."""
    if not questions:
        raise InputError("there is no plan to state anything about: give plans, or a collection with a round")
    asked = [_numbers(each) for each in questions]
    users = 1 + max((int(who.max()) for who in asked if who is not None and who.size), default=0)
    links = max((each.plan.dims or 0 for each in questions if each.plan.subject == "links"), default=0)
    count = max(users, links)
    enough = add_up(each.plan.claim for each in questions)
    ledger = Ledger(count, enough.epsilon * 2, min(2 * enough.delta, 1 - 1e-9))
    for each, who in zip(questions, asked, strict=True):
        ledger.charge(each.plan if who is None else each.plan.part(who.tolist()))
    return privacy_record(
        ledger,
        silent=any(_silent(each) for each in questions),
        partial=any(who is not None for who in asked),
        volunteers=np.arange(volunteers) if volunteers else None,
        devices=True,
    )


def statement_page(statement: Statement) -> str:
    """The page."""
    gathered = statement.gathered
    title = "Privacy statement" if gathered is None else f"Privacy statement: {gathered.purpose}"
    footer = f"graphveil {__version__}. ε and δ are those of local differential privacy; exact numbers are rounded up."
    sections = [_who_gets_what(statement), _composition(statement), *_audited(statement), _names(statement)]
    return page(title, statement.headline, sections, footer)


def _who_gets_what(statement: Statement) -> Section:
    about = (
        "Every line is something that leaves a device or is known without asking. Reported: the device adds the noise itself, and "
        "nobody else sees what it holds. Raw: it is read as it is, and no ε protects it."
    )
    text = [about]
    if statement.gathered is not None:
        kept = statement.gathered.retention
        until = "until they are deleted by hand" if kept is None else f"for {counted(kept, 'day')}"
        gone = statement.gathered.forgotten
        text.append(
            f"{statement.gathered.enrolled:,} of {statement.gathered.users:,} people have enrolled. Reports are kept {until}; "
            f"{f'{gone:,} of them' if gone else 'nobody'} asked to be forgotten."
        )
    return Section("Who gets what", tuple(text), table=Table(HEAD, tuple(_rows(statement)), NUMBERS))


def _rows(statement: Statement) -> list[tuple[str, ...]]:
    rows = [_row(each) for each in statement.questions]
    gathered = statement.gathered
    if gathered is None:
        return rows

    def raw(data: str, how_many: str) -> tuple[str, ...]:
        return (SERVER, data, RAW, "-", "none", "none", "-", "-", how_many)

    if gathered.volunteers:
        rows.append(raw("whole rows of volunteers, by consent", f"{gathered.volunteers:,}"))
    if gathered.links:
        rows.append(raw("links between users, taken as public", f"{gathered.links:,} links"))
    if gathered.labels:
        rows.append(raw("labels that the operator knows, taken as public", f"{gathered.labels:,}"))
    rows.append(raw("who has enrolled, and who has answered which round", f"{gathered.enrolled:,}"))
    return rows


def _row(question: Question) -> tuple[str, ...]:
    plan, built = question.plan, question.plan.build()
    who = "all users" if plan.users == "all" else f"{len(plan.users):,}"
    if question.asked is not None:
        who = f"{len(question.asked):,} asked, {question.answered or 0:,} answered"
    return (
        CURATOR if built.trust == "curator" else SERVER,
        _data(plan),
        RAW if built.trust == "curator" else REPORTED,
        plan.mechanism,
        number(plan.claim.epsilon),
        _exact(built),
        number(plan.claim.delta) if plan.claim.delta else "0",
        str(plan.round) if question.asked is None else question.name.removeprefix("round "),
        who,
    )


def _data(plan: Plan) -> str:
    if plan.of == "class":
        return CLASS_OF_ROW
    if plan.of == "norm":
        return "the length (norm) of the own row of features"
    told = DATA[plan.subject]
    return told if plan.sampled is None else f"{told}, {plan.sampled} of {plan.dims}"


def _exact(built: Mechanism) -> str:
    if not built.finite:
        return f"≤ {number(built.epsilon)} (ideal)"
    return exact_epsilon(built.epsilon, built.claim.epsilon)


def _digits(text: str) -> str:
    """A cell for a machine: an exact number in digits."""
    return text.digits if isinstance(text, ExactText) else text


def _composition(statement: Statement) -> Section:
    privacy, text = statement.privacy, list[str]()
    text.append(
        "Budgets add up over all that one person is asked (basic composition); whoever does not answer counts as if they had. Plans for "
        "different people do not add up: the most that anybody can spend counts."
    )
    if privacy.total is not None:
        text.append(f"In all, nobody spends more than {privacy.total.most}.")
    if privacy.links is not None:
        text.append(f"Besides, a link {privacy.link_cost}.")
    if statement.gathered is not None:
        delta = f", δ = {number(statement.gathered.delta)}" if statement.gathered.delta else ""
        text.append(
            f"People were offered a cap of ε = {number(statement.gathered.epsilon)}{delta}. Their devices keep the books and refuse what "
            f"would pass it. {_renewed(statement.gathered)}"
        )
    return Section("What it costs in all", tuple(text))


def _renewed(gathered: Gathered) -> str:
    if not gathered.renewing:
        return "It is for life."
    return f"It is for life, but {gathered.renewing:,} chose to renew it by period: their budgets add up beyond it."


def _audited(statement: Statement) -> list[Section]:
    """What is proved and tested of every mechanism, and what of none."""
    sections = []
    for mark, audited in statement.audits.items():
        whose = ", ".join(each.name for each in statement.questions if each.plan.build().fingerprint == mark)
        kept = "holds" if audited.holds else "does not hold"
        claim = f"ε = {number(audited.claimed.epsilon)}" + (
            f", δ = {number(audited.claimed.delta)}" if audited.claimed.delta else ""
        )
        first = f"{whose}: the claim {claim} {kept}."
        told = [first, *audited.leaks, *audited.protects, *(f"On trust: {each}" for each in audited.trusts)]
        sections.append(Section(f"What was audited: {audited.name}", tuple(told)))
    gaps = dict.fromkeys(gap for audited in statement.audits.values() for gap in audited.not_covered)
    if gaps:
        sections.append(Section("What no audit shows", tuple(gaps)))
    return sections


def _names(statement: Statement) -> Section:
    rows = tuple(
        (each.name, kind, value)
        for each in statement.questions
        for kind, value in (
            ("digest of the plan", plan_digest(each.plan)),
            ("fingerprint of the mechanism", each.plan.build().fingerprint),
        )
    )
    about = "A device answers a plan only if it is signed, and computes these and the exact ε again from the plan's integer tables."
    return Section("Fingerprints", (about,), table=Table(("plan", "what", "SHA-256"), rows))


def _numbers(question: Question) -> NDArray[np.int64] | None:
    """Whom a question asks; None where that is everybody."""
    if question.asked is not None:
        return question.asked
    return None if question.plan.users == "all" else np.array(question.plan.users, dtype=np.int64)


def _silent(question: Question) -> bool:
    return question.asked is not None and (question.answered or 0) < len(question.asked)
