"""What one person holds: a row of values, and perhaps a label, a level and a list of neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphveil.errors import InputError, RefusalError
from graphveil.mechanisms import NeighbourLists, PersonalRows
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.mechanisms.rows import listed, rectangle
from graphveil.privacy import Plan
from graphveil.privacy.people import PERSON_BYTES, people_numbers


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """One person's data, in the clear; it stays on the device. Only shapes are ever refused, and no error shows a value.

    ``neighbours`` are numbers of a collection's people, ``neighbour_ids`` what the collection calls them: an empty list is a list.
    """

    row: Any = None
    label: Any = None
    level: Any = None
    neighbours: Any = None
    neighbour_ids: tuple[str, ...] | None = None
    # How many people the collection has named; None where neighbours were given by numbers.
    people: int | None = None

    def __post_init__(self) -> None:
        if self.row is not None:
            object.__setattr__(self, "row", _one_row(self.row))

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What questions can be answered about."""
        held: dict[Subject, Any] = {
            "features": self.row,
            "label": self.label,
            "level": self.level,
            "links": self.neighbour_ids if self.neighbours is None else self.neighbours,
        }
        return tuple(subject for subject, value in held.items() if value is not None)

    def check(self, dims: int) -> None:
        """Refuse a row of another length than agreed: how long a row is is public."""
        if self.row is not None and self.row.shape[1] != dims:
            raise InputError(
                f"the row has {self.row.shape[1]} values, this collection is about rows of {dims}: give all of them"
            )

    @property
    def needs_people(self) -> bool:
        """Whether a question about links takes the numbers of a collection's people first."""
        return self.neighbours is None and self.neighbour_ids is not None

    def among(self, collection: str, people: bytes) -> Held:
        """The same with neighbours by their numbers, of a collection whose people have these digests."""
        numbers = people_numbers(collection, self.neighbour_ids or (), people)
        return replace(self, neighbours=numbers, people=len(people) // PERSON_BYTES)

    def asked(self, plan: Plan, user: int) -> Any:
        """What a plan asks for, in the form that `graphveil.answer` takes."""
        held = {"features": self.row, "label": self.label, "level": self.level, "links": self.neighbours}
        if held[plan.subject] is None:
            raise InputError(f"this device holds no {plan.subject}: give it, or answer no questions about it")
        if plan.subject == "features":
            if not isinstance(plan.build(), PersonalMechanism):
                return self.row
            return PersonalRows([1 if self.level is None else self.level], self.row)
        if plan.subject == "links":
            if self.people is not None and (plan.dims or 0) > self.people:
                raise RefusalError(
                    "people",
                    f"the question counts on {plan.dims} people, and the collection names {self.people} of them",
                )
            neighbours = listed(self.neighbours, "neighbours")
            return NeighbourLists(np.array([user]), np.array([0, len(neighbours)]), neighbours)
        return [self.label if plan.subject == "label" else self.level]

    def __repr__(self) -> str:
        return f"Held({', '.join(self.subjects)})"


def _one_row(row: Any) -> Any:
    """A row as an array of one user; whatever its values are."""
    array = rectangle([row] if isinstance(row, (list, tuple)) else row)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] != 1 or array.shape[1] == 0:
        raise InputError(f"a row must be a list of values of one person, got the shape {array.shape}")
    return array
