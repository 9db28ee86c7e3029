"""The data of one person: a row of values, and perhaps a label, a level and neighbours; and its files.

An error says where something is wrong in a file, and never what stands there.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.errors import InputError, MessageError, RefusalError
from graphveil.files import MAX_TEXT, read_array, read_json, read_text
from graphveil.mechanisms import NeighbourLists, PersonalRows
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.mechanisms.rows import listed, rectangle
from graphveil.privacy import Plan
from graphveil.privacy.people import PERSON_BYTES, people_numbers

OWN = "name the file of your own row"
FIELDS = {"values": "row", "label": "label", "level": "level", "neighbours": "neighbours"}


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
    def _by_subject(self) -> dict[Subject, Any]:
        return {
            "features": self.row,
            "label": self.label,
            "level": self.level,
            "links": self.neighbour_ids if self.neighbours is None else self.neighbours,
        }

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects that questions can be answered about."""
        return tuple(subject for subject, value in self._by_subject.items() if value is not None)

    def check(self, dims: int) -> None:
        """Refuse a row of another length than agreed: how long a row is is public."""
        if self.row is not None and self.row.shape[1] != dims:
            raise InputError(f"the row has {self.row.shape[1]} values, this collection takes rows of {dims}")

    @property
    def needs_people(self) -> bool:
        """Whether a question about links takes the numbers of a collection's people first."""
        return self.neighbours is None and self.neighbour_ids is not None

    def among(self, collection: str, people: bytes) -> Held:
        """The same with neighbours by their numbers, of a collection whose people have these digests."""
        try:
            numbers = people_numbers(collection, self.neighbour_ids or (), people)
        except MessageError as error:
            raise RefusalError("people", str(error)) from None
        return replace(self, neighbours=numbers, people=len(people) // PERSON_BYTES)

    def asked(self, plan: Plan, user: int) -> Any:
        """Return the data that a plan asks for, in the form that `graphveil.answer` takes."""
        held = self._by_subject[plan.subject]
        if held is None or (plan.subject == "links" and self.neighbours is None):
            raise InputError(f"this device holds no {plan.subject}: give it, or answer no questions about it")
        if plan.subject == "features":
            level = 1 if self.level is None else self.level
            return PersonalRows([level], held) if isinstance(plan.build(), PersonalMechanism) else held
        if plan.subject != "links":
            return [held]
        if self.people is not None and (plan.dims or 0) > self.people:
            said = f"the question counts on {plan.dims} people, the collection names {self.people}"
            raise RefusalError("people", said)
        neighbours = listed(held, "neighbours")
        return NeighbourLists(np.array([user]), np.array([0, len(neighbours)]), neighbours)

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


def read_held(path: Path) -> Held:
    """Read a person's data from a .csv, .json or .npy file.

    It is one line of numbers (.csv), a list or an object with "values" (.json), or an array (.npy).

    An object may have "label", "level" and "neighbours" besides. An empty cell is a value that is missing.
    """
    readers = {".csv": _read_csv, ".json": _read_json, ".npy": _read_npy}
    if path.suffix.lower() not in readers:
        raise InputError(f"{str(path)!r} must be a file that ends in {', '.join(readers)}")
    values = readers[path.suffix.lower()](path)
    try:
        return Held(**values)
    except InputError as error:
        raise InputError(f"{path}: {error.as_written}") from None


def read_links(path: Path) -> tuple[str, ...]:
    """Whom a person is linked to: a text file with an id a line, as the collection calls people; an empty one names nobody."""
    text = read_text(path, "name a file with the ids of those whom you are linked to, one a line")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _read_csv(path: Path) -> dict[str, Any]:
    text = read_text(path, f"{OWN}, one line of numbers with commas between them")
    try:
        read = csv.reader(io.StringIO(text, newline=""))
        lines = [line for line in read if any(cell.strip() for cell in line)]
    except csv.Error:
        raise InputError(f"{path} is not text with commas: give one line of numbers") from None
    if len(lines) == 2 and len(lines[0]) == len(lines[1]):
        # The first line has names.
        lines = lines[1:]
    if len(lines) != 1:
        raise InputError(f"{str(path)!r} must hold one row, or names and one row; it has {len(lines)} lines")
    return {"row": [_number(cell, path, place) for place, cell in enumerate(lines[0], 1)]}


def _number(cell: str, path: Path, place: int) -> float:
    if not cell.strip():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"column {place} of {str(path)!r} must be a number, or empty") from None


def _read_json(path: Path) -> dict[str, Any]:
    told = read_json(path, f"{OWN}, a list of numbers")
    if isinstance(told, list):
        told = {"values": told}
    if not isinstance(told, dict) or not told or not set(told) <= set(FIELDS):
        raise InputError(f"{str(path)!r} must hold a list of numbers, or an object with {', '.join(FIELDS)}")
    for name in ("values", "neighbours"):
        if name in told and not (isinstance(told[name], list) and all(map(_is_number, told[name]))):
            raise InputError(f"{name} in {str(path)!r} must be a list of numbers, null where one is missing")
    for name in ("label", "level"):
        if name in told and not _is_number(told[name]):
            raise InputError(f"{name} in {str(path)!r} must be a number")
    # What is missing is answered like what does not fit, at random: silence would tell that it is missing.
    return {FIELDS[name]: math.nan if value is None else value for name, value in told.items()}


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _read_npy(path: Path) -> dict[str, Any]:
    array = read_array(path, "a row of numbers", OWN, MAX_TEXT / 1e9)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path} must be an array of numbers, it is one of words: write a row of numbers")
    return {"row": array}
