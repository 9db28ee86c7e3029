"""The class that a public model gives to the own row, among those that are left open, by k-ary response.

Whatever the model is, and whatever is left open, the answer is one symbol through one channel: its ε is the channel's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.channels.sampling import Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import Answer, Estimate, Mechanism, ReportShape, Subject
from graphveil.mechanisms.class_model import ClassModel
from graphveil.mechanisms.integers import Integers
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import Floats, PublicRange, Rows

# Classes in all lists of a plan, as many as offsets.
MAX_OPEN = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class ClassMechanism(Mechanism):
    """Every user evaluates ``model`` on the own row and reports where in the own list the class with the highest score stands.

    ``lists`` has a row of different classes for each user, or one row for everybody; ``offsets`` are added to their scores.
    Of equal scores the first in the list counts. A report is a place, 0..K-1, through the channel of ``label``.
    """

    label: LabelMechanism
    public: PublicRange
    model: ClassModel
    lists: Integers
    offsets: Integers | None = None
    subject: Subject = "features"
    unbiased: bool = False

    def __post_init__(self) -> None:
        listed = self.lists.array
        if listed.ndim != 2 or listed.shape[1] != self.places_open:
            raise InputError(
                f"lists must have {self.places_open} classes for each user, as many as the plan's classes, got {listed.shape[-1]}"
            )
        if listed.size > MAX_OPEN:
            raise InputError(
                f"lists may hold at most {MAX_OPEN} classes in all, got {listed.size}: ask in several plans"
            )
        if int(listed.min(initial=0)) < 0 or int(listed.max(initial=0)) >= self.model.classes:
            raise InputError(f"lists must hold classes of the model, 0..{self.model.classes - 1}")
        ordered = np.sort(listed, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise InputError("lists must not name a class twice for one user")
        if self.offsets is None:
            return
        if self.offsets.shape != self.lists.shape:
            raise InputError(
                f"offsets must be {' x '.join(map(str, self.lists.shape))} integers, as many as lists has classes, got "
                f"{' x '.join(map(str, self.offsets.shape))}"
            )
        if self.offsets.largest > self.model.largest_offset:
            raise InputError(
                f"offsets must lie within ±{self.model.largest_offset} with this model, so that scores stay within 2^52, got "
                f"{self.offsets.largest}: take a smaller scale"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The channel's mechanism, by which the plan asks."""
        return self.label.name

    @property
    def claim(self) -> Claim:  # type: ignore[override]
        """The channel's."""
        return self.label.claim

    @property
    def places_open(self) -> int:
        """K: how many classes are left open for each user."""
        return self.label.channel.input_count

    @property
    def answers(self) -> tuple[Answer, ...]:
        return self.label.answers

    @cached_property
    def shape(self) -> ReportShape:
        return replace(self.label.shape, dimensions=self.places_open, row_length=self.model.dims)

    def places_of(self, private: Any) -> NDArray[np.int64]:
        """Where in the own list the class of each user's row stands: private, and what goes through the channel."""
        rows = Rows(private, self.model.dims)
        lists = self._for(self.lists, rows.users)
        offsets = None if self.offsets is None else self._for(self.offsets, rows.users)
        places = np.empty(rows.users, dtype=np.int64)
        for start, stop in rows.blocks():
            scores, length = self.model.scores(self.model.integers(rows.dense(start, stop), self.public))
            own = np.take_along_axis(scores, lists[start:stop], axis=1)
            if offsets is not None:
                own += offsets[start:stop] * length
            places[start:stop] = own.argmax(axis=1)
        return places

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        return replace(self.label.randomize(self.places_of(private), words), mechanism=self)

    def count(self, private: Any) -> int:
        return Rows(private, self.model.dims).users

    def altered(self, private: Any) -> int:
        return int(Rows(private, self.model.dims).outside(self.public).sum())

    def estimate(self, reports: Reports) -> Estimate:
        """How likely each place of the own list is, as 1s and 0s would say; it is no estimate of a row."""
        return self.label.estimate(reports)

    def blind(self) -> ClassMechanism:
        blind = self.label.blind()
        assert isinstance(blind, LabelMechanism)
        return replace(self, label=blind)

    def of_users(self, places: Any) -> ClassMechanism:
        """The same question to some of its users, by their places in the plan."""
        offsets = None if self.offsets is None else self.offsets.rows(places)
        return replace(self, lists=self.lists.rows(places), offsets=offsets)

    def extremes(self) -> list[Any]:
        """Two rows that the first user would report as different places, if the model tells any apart."""
        rows = self._telling_rows()
        places = self.of_users([0]).places_of(rows)
        other = int(np.argmax(places != places[0]))
        return [rows[0], rows[other if other else 1]]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        place = int(self.of_users([0]).places_of(np.asarray(private)[None])[0])
        return self.label.joint_counts(place)

    def described(self) -> dict[str, Any]:
        return {
            "of": "class",
            "dims": self.model.dims,
            "range": [self.public.low, self.public.high],
            "model": self.model.digest,
            "lists": self.lists.array,
            "offsets": None if self.offsets is None else self.offsets.array,
        }

    def _for(self, table: Integers, users: int) -> NDArray[np.int64]:
        """A row of the table for each user; one row is everybody's."""
        if table.shape[0] not in (1, users):
            raise InputError(
                f"lists are there for {table.shape[0]} users, and {users} rows were given: give theirs"
            )
        return np.broadcast_to(table.array, (users, table.shape[1]))

    def _telling_rows(self) -> Floats:
        """Rows at the ends of the range, and for each place one whose values speak for its class."""
        model, listed = self.model, self.lists.array[0]
        weights = model.weights.floats[listed]
        if model.first is not None:
            weights = weights @ model.first.floats
        spoken = np.where(weights > weights.mean(axis=0), self.public.high, self.public.low)
        ends = np.array([self.public.low, self.public.high])
        return np.concatenate([np.repeat(ends[:, None], model.dims, axis=1), spoken])

    def __repr__(self) -> str:
        asked = f"{self.places_open} of {self.model.classes} classes"
        return f"ClassMechanism({self.name}, epsilon={self.claim.epsilon:g}, {asked} by a {self.model.kind} model)"
