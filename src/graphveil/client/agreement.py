"""The agreement between an owner and a collection at enrolment, and the texts that the owner reads first.

Both sides know what was agreed on, so a refusal tells nothing new.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.channels.kary import MAX_SYMBOLS
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError, StoreError
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.limits import MAX_DIMS, MAX_LEVELS
from graphveil.mechanisms.rows import PublicRange
from graphveil.number_format import rounded_up
from graphveil.privacy import Plan
from graphveil.privacy.envelope import MAX_PURPOSE, check_hex, question_numbers
from graphveil.privacy.plan import MAX_USERS

if TYPE_CHECKING:
    from graphveil.client.device import Inquiry

SECONDS_A_DAY = 86_400
MAX_DAYS = 36_600
# How many people a collection may come to have, for a device that answers about links: so many times as many as at enrolment. A
# list of a few people costs a device nothing.
GROWTH, FEW_PEOPLE = 4, 1 << 16
# What to do about a damaged file of a device.
RESTORE = "restore the file from a backup, or enrol anew with another file"
SUBJECTS: tuple[Subject, ...] = ("features", "label", "level", "links")


@dataclass(frozen=True)
class Cap:
    """The most that an owner spends in one collection, for life; ``by_level`` are public budgets that levels have besides.

    With ``renewal_days`` it is granted anew after so many days, and what the owner may spend in all grows with every period:
    budgets add up. That is the owner's explicit choice.
    """

    epsilon: float
    delta: float = 0.0
    by_level: tuple[float, ...] | None = None
    renewal_days: int | None = None

    def __post_init__(self) -> None:
        check_number(self.epsilon, "the cap", least=0)
        check_number(self.delta, "the cap's delta", least=0, below=1)
        if self.by_level is not None:
            if not 1 <= len(self.by_level) <= MAX_LEVELS:
                raise InputError(f"by_level must be the budgets of 1 to {MAX_LEVELS} levels")
            for budget in self.by_level:
                check_number(budget, "by_level", least=0)
        if self.renewal_days is not None:
            check_whole(self.renewal_days, "renewal_days", least=1, most=MAX_DAYS)

    def period(self, enrolled: int, now: float) -> int:
        """Return how often the cap was renewed since enrolment."""
        if self.renewal_days is None:
            return 0
        return max(0, math.floor((now - enrolled) / (self.renewal_days * SECONDS_A_DAY)))


@dataclass(frozen=True)
class Offer:
    """The public description of a collection, read before anybody takes part."""

    collection: str
    key: bytes
    purpose: str
    cap: Cap
    dims: int = 0
    range: tuple[float, float] | None = None
    binary: bool = False
    classes: int = 0
    volunteers: bool = False
    # Whether people are asked for their links too, which are then nowhere public.
    private_links: bool = False
    # How many people the collection has, 0 where it does not say. It may grow, and is the same collection.
    people: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        check_hex(self.collection, "collection", 16)
        if not isinstance(self.key, bytes) or len(self.key) != 32:
            raise InputError("a collection's key must have 32 bytes")
        if not isinstance(self.purpose, str) or not 0 < len(self.purpose) <= MAX_PURPOSE:
            raise InputError(f"a collection's purpose must be a text of 1 to {MAX_PURPOSE} characters")
        check_whole(self.dims, "dims", least=0, most=MAX_DIMS)
        check_whole(self.classes, "classes", least=0, most=MAX_SYMBOLS)
        check_whole(self.people, "people", least=0, most=MAX_USERS)
        if (self.dims > 0) != (self.range is not None):
            raise InputError("dims and range belong together: a collection has both, or neither")
        if self.range is not None:
            PublicRange.of(self.range)

    @property
    def most_people(self) -> int:
        """The most people that a question about links may count on, however the collection grows."""
        return min(MAX_DIMS, max(FEW_PEOPLE, GROWTH * self.people))

    @property
    def question_numbers(self) -> int:
        """The most numbers in the long lists of a question: a model of these attributes and classes."""
        return question_numbers(self.dims, self.classes)

    @property
    def largest_norm(self) -> float:
        """The largest length of a row that the range allows: √d · max(|low|, |high|)."""
        low, high = self.range or (0.0, 0.0)
        return float(np.sqrt(self.dims) * max(abs(low), abs(high)))


@dataclass(frozen=True, repr=False)
class Agreement:
    """The permanent terms between one owner and one collection.

    ``user`` is the number by which plans ask the owner. No question may depend on an ``excluded`` attribute. ``subjects`` are what
    the owner answers questions about.
    """

    offer: Offer
    server: str
    pseudonym: str
    user: int
    cap: Cap
    enrolled: int
    excluded: tuple[int, ...] = ()
    subjects: tuple[Subject, ...] = ("features",)
    volunteer: bool = False

    def __post_init__(self) -> None:
        check_hex(self.pseudonym, "pseudonym", 16)
        check_whole(self.user, "user", least=0, most=MAX_USERS - 1)
        check_whole(self.enrolled, "enrolled", least=0)
        check_excluded(self.excluded, self.offer.dims)
        if not self.subjects or not set(self.subjects) <= set(SUBJECTS):
            raise InputError(f"subjects must be some of {', '.join(SUBJECTS)}")
        if self.volunteer:
            check_volunteer(self.offer, self.excluded)

    @property
    def collection(self) -> str:
        """The collection's id."""
        return self.offer.collection

    def __repr__(self) -> str:
        return f"Agreement({self.collection}, user {self.user}, epsilon {self.cap.epsilon:g})"


def check_excluded(excluded: Any, dims: int) -> tuple[int, ...]:
    """Return the numbers of attributes, sorted; or say that they must be such."""
    for number in excluded:
        check_whole(number, "an excluded attribute", least=0, most=dims - 1, why="counted from 0")
    return tuple(sorted(set(excluded)))


def check_volunteer(offer: Offer, excluded: tuple[int, ...]) -> None:
    """Refuse to give a raw row where none is taken, or where some of it must not leave."""
    if not offer.volunteers:
        raise InputError("this collection takes no raw rows: do not volunteer")
    if excluded:
        raise InputError("a volunteer gives the whole row: exclude nothing, or do not volunteer")


def write_agreement(agreement: Agreement) -> str:
    """An agreement as JSON."""
    told = asdict(agreement)
    told["offer"]["key"] = agreement.offer.key.hex()
    return json.dumps(told)


def read_agreement(text: str) -> Agreement:
    """An agreement from what `write_agreement` wrote."""
    try:
        told = json.loads(text, object_hook=_tuples)
        offer, cap = told["offer"], Cap(**told["cap"])
        key, offered = bytes.fromhex(offer["key"]), Cap(**offer["cap"])
        return Agreement(**{**told, "offer": Offer(**{**offer, "key": key, "cap": offered}), "cap": cap})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise StoreError(f"an agreement in the device's file is damaged: {RESTORE}") from None


def _tuples(told: dict[str, Any]) -> dict[str, Any]:
    """Lists of JSON as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}


def terms_text(offer: Offer, cap: Cap, excluded: tuple[int, ...], volunteer: bool) -> list[str]:
    """Return what taking part in a collection costs at most, and what it is asked for, a sentence each.

    Parameters
    ----------
    offer
        The collection's description of itself.
    cap
        The most that the owner spends.
    excluded
        The numbers of the attributes that no question may depend on.
    volunteer
        Whether the owner gives the raw row.
    """
    delta = f" and δ = {cap.delta:g}" if cap.delta else ""
    period = "for life."
    if cap.renewal_days is not None:
        yearly = rounded_up(cap.epsilon * (1 + 365 // cap.renewal_days), 6)
        period = f"anew every {cap.renewal_days} days: budgets add up, a year may cost up to ε = {yearly}."
    lines = [f"You will spend at most ε = {cap.epsilon:g}{delta} in it, {period}"]
    if excluded:
        lines.append(f"No answer may depend on attribute {', '.join(map(str, excluded))}.")
    if offer.private_links:
        lines.append(
            f"It asks whom of its {f'{offer.people} ' if offer.people else ''}people you are linked to, too, each link randomized: you answer that if you give --links. Of two people who are "
            "linked one answers for it, by numbers that the collector gives out: if it lies about them, both do, and the link costs what both of you "
            "spend on it, at most both your caps together."
        )
    if volunteer:
        lines.append("You give your row AS IT IS, without any noise: no ε describes that.")
    return lines


def question_text(inquiry: Inquiry) -> str:
    """Return what a question asks for, by which mechanism, and until when."""
    question = inquiry.question
    until = datetime.fromtimestamp(question.expires, UTC).strftime("%Y-%m-%d %H:%M")
    return f"Round {question.round} asks for {what_is_asked(question.plan)}, by {question.plan.mechanism}, until {until} UTC."


def cost_text(inquiry: Inquiry, agreement: Agreement) -> list[str]:
    """Return what an answer costs, a sentence each."""
    if inquiry.kept:
        return ["You have answered it before: the same answer is sent again, and costs nothing."]
    exact, left = inquiry.exact, inquiry.left
    sort = "exact" if inquiry.question.plan.build().finite else "bounded"
    delta = f" and δ = {exact.delta:g}" if exact.delta else ""
    after = max(0.0, left.epsilon - inquiry.claim.epsilon)
    cost = f"It costs ε = {inquiry.claim.epsilon:g} ({sort}: {rounded_up(exact.epsilon, 9)}){delta}."
    cap = f"Your cap of {agreement.cap.epsilon:g} leaves {left.epsilon:.6g} before, {after:.6g} after."
    lines = [f"{cost} {cap}"]
    if inquiry.link_at_most is not None:
        lines.append(
            f"A link costs that if the collector tells everybody the same numbers of people: then one of its two ends answers. If it lies about them, "
            f"both may, and a link costs at most ε = {inquiry.link_at_most.epsilon:g} where the other end is asked the same."
        )
    return lines


def what_is_asked(plan: Plan) -> str:
    """Return what of a person a plan asks for, in words.

    >>> what_is_asked(Plan(mechanism="krr", epsilon=1.0, classes=3))
    'which of 3 labels you have, randomized'
    """
    mechanism = plan.build()
    if plan.of == "norm":
        return "the length of your row, randomized"
    if plan.of == "class":
        return f"which of {plan.classes} classes a public model gives to your row, randomized"
    if plan.subject == "label":
        return f"which of {plan.classes} labels you have, randomized"
    if plan.subject == "level":
        return f"which of {plan.levels} privacy levels you chose, randomized"
    if plan.subject == "links":
        return f"whom you are linked to, among {plan.dims} users, each link randomized"
    if mechanism.asking is not None and not mechanism.budgets:
        return f"{mechanism.asking.count} of the {mechanism.shape.dimensions} values of your row, randomized"
    return f"your row of {mechanism.shape.row_length} values, randomized"
