"""Whom a list of neighbours names: the people of a collection by digests of their ids, in the order of their numbers.

A device has to know which numbers its owner's neighbours have. It gets the digests of everybody, and looks for those of the ids that it
holds: what it asks the server for does not depend on whom it knows. Digests keep a list of names from being read along the way; whoever
guesses an id sees whether that person is among the people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import MessageError
from graphveil.mechanisms.limits import MAX_DIMS

FORMAT = "graphveil-person-1"
# Two ids of a collection never share so many bytes of a SHA-256 by chance.
PERSON_BYTES = 16
# Numbers of people are dimensions of a plan.
MAX_PEOPLE_BYTES = PERSON_BYTES * MAX_DIMS


def person_digest(collection: str, name: str) -> bytes:
    """The first 16 bytes of the SHA-256 of format, collection and id, with line feeds between; other in every collection.

    >>> person_digest("c0" * 16, "p17").hex()
    '4276ba2d253bb46fa69c26e1e649b006'
    """
    told = f"{FORMAT}\n{collection}\n{name}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()[:PERSON_BYTES]


def people_digests(collection: str, names: Iterable[str]) -> bytes:
    """The digests of all people, one after the other."""
    return b"".join(person_digest(collection, str(name)) for name in names)


def people_numbers(collection: str, names: Iterable[str], people: bytes) -> NDArray[np.int64]:
    """The numbers of those of some ids who are among the people; ids of nobody are passed over.

    A digest that is there twice is refused: a link to one id would be answered for at two numbers, and cost twice what it says.
    """
    places = _places(people)
    found = (places.get(person_digest(collection, name)) for name in names)
    return np.array([place for place in found if place is not None], dtype=np.int64)


def _places(people: bytes) -> dict[bytes, int]:
    if len(people) > MAX_PEOPLE_BYTES or len(people) % PERSON_BYTES:
        raise MessageError(f"the people of a collection must be digests of {PERSON_BYTES} bytes each")
    count = len(people) // PERSON_BYTES
    places = {people[PERSON_BYTES * place : PERSON_BYTES * (place + 1)]: place for place in range(count)}
    if len(places) != count:
        raise MessageError(
            "the people of a collection must be different, and some are there twice: a link to them would be answered twice"
        )
    return places
