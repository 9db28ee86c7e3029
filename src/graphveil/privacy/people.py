"""Whom a list of neighbours names: the people of a collection by digests of their ids, in the order of their numbers.

A device has to know which numbers its owner's neighbours have. It gets the digests of everybody, and looks for those of the ids that it
holds: what it asks the server for does not depend on whom it knows. Digests keep a list of names from being read along the way; whoever
guesses an id sees whether that person is among the people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import MessageError
from graphveil.mechanisms.limits import MAX_DIMS

FORMAT = "graphveil-person-1"
# Two ids of a collection never share so many bytes of a SHA-256 by chance.
PERSON_BYTES = 16
# Numbers of people are dimensions of a plan.
MAX_PEOPLE_BYTES = PERSON_BYTES * MAX_DIMS
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def person_digest(collection: str, name: str) -> bytes:
    """The first 16 bytes of the SHA-256 of format, collection and id, with line feeds between; other in every collection.

    The id is in Unicode's form NFC: systems write é as one character or as two, and both are the same person.

    >>> person_digest("c0" * 16, "p17").hex()
    '4276ba2d253bb46fa69c26e1e649b006'
    """
    told = f"{FORMAT}\n{collection}\n{normalize('NFC', name)}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()[:PERSON_BYTES]


def people_digests(collection: str, names: Iterable[str]) -> bytes:
    """The digests of all people, one after the other."""
    return b"".join(person_digest(collection, str(name)) for name in names)


def people_numbers(collection: str, names: Iterable[str], people: bytes) -> NDArray[np.int64]:
    """Return the numbers of those ids that are among the people; ids of nobody are passed over.

    A digest that is there twice is refused: a link to one id would be answered for at two numbers, and cost twice what it says.

    Parameters
    ----------
    collection
        The id of the collection.
    names
        The ids to look for.
    people
        The digests of all people, as `people_digests` returns them.
    """
    if len(people) > MAX_PEOPLE_BYTES or len(people) % PERSON_BYTES:
        raise MessageError(f"the people of a collection must be digests of {PERSON_BYTES} bytes each")
    # Two numbers for each digest, sorted: no object is made for each of a million people.
    halves = np.frombuffer(people, dtype="<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    ordered = halves[order]
    if (ordered[1:] == ordered[:-1]).all(axis=1).any():
        raise MessageError("some people are there twice: a link to them would be answered twice")
    wanted = b"".join({person_digest(collection, name) for name in names})
    places = [_place(ordered, *each) for each in np.frombuffer(wanted, dtype="<u8").reshape(-1, 2)]
    return np.sort(order[[place for place in places if place is not None]])


def _place(ordered: NDArray[np.uint64], first: np.uint64, second: np.uint64) -> int | None:
    """Return the place of a digest among sorted ones, by bisection.

    Digests that begin alike do not slow it down.
    """
    start, stop = (int(np.searchsorted(ordered[:, 0], first, side)) for side in ("left", "right"))
    place = start + int(np.searchsorted(ordered[start:stop, 1], second))
    return place if place < stop and ordered[place, 1] == second else None
