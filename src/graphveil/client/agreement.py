"""What an owner and a collection have agreed on at enrolment: both sides know it, so a refusal tells nothing new."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.limits import MAX_DIMS, MAX_LEVELS
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy.envelope import MAX_PURPOSE, check_hex
from graphveil.privacy.plan import MAX_USERS

SECONDS_A_DAY = 86_400
MAX_DAYS = 36_600
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
        """How often it was renewed since enrolment."""
        if self.renewal_days is None:
            return 0
        return max(0, math.floor((now - enrolled) / (self.renewal_days * SECONDS_A_DAY)))


@dataclass(frozen=True)
class Offer:
    """What a collection says of itself before anybody takes part."""

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

    def __post_init__(self) -> None:
        check_hex(self.collection, "collection", 16)
        if not isinstance(self.key, bytes) or len(self.key) != 32:
            raise InputError("a collection's key must have 32 bytes")
        if not isinstance(self.purpose, str) or not 0 < len(self.purpose) <= MAX_PURPOSE:
            raise InputError(f"a collection's purpose must be a text of 1 to {MAX_PURPOSE} characters")
        check_whole(self.dims, "dims", least=0, most=MAX_DIMS)
        check_whole(self.classes, "classes", least=0)
        if (self.dims > 0) != (self.range is not None):
            raise InputError("dims and range belong together: a collection has both, or neither")
        if self.range is not None:
            PublicRange.of(self.range)

    @property
    def largest_norm(self) -> float:
        """The largest length of a row that the range allows: √d · max(|low|, |high|)."""
        low, high = self.range or (0.0, 0.0)
        return float(np.sqrt(self.dims) * max(abs(low), abs(high)))


@dataclass(frozen=True, repr=False)
class Agreement:
    """What holds between one owner and one collection, for good.

    ``user`` is the number by which plans ask the owner, ``credential`` what the server knows the device by. No question may
    depend on an ``excluded`` attribute. ``subjects`` are what the owner answers questions about.
    """

    offer: Offer
    server: str
    pseudonym: str
    user: int
    credential: str
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
        raise InputError(
            "a volunteer gives the whole row, excluded attributes too: exclude nothing, or do not volunteer"
        )
