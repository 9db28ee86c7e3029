"""Ids of people become the numbers of a collection, and no link can be answered for twice."""

import hashlib
import tracemalloc

import pytest

from graphveil.errors import MessageError
from graphveil.privacy.people import MAX_PEOPLE_BYTES, people_digests, people_numbers, person_digest

COLLECTION, NAMES = "c0" * 16, ["ann", "bob", "çe", "dora"]
PEOPLE = people_digests(COLLECTION, NAMES)


def test_a_digest_is_of_format_collection_and_id():
    told = hashlib.sha256(b"graphveil-person-1\n" + b"c0" * 16 + b"\n\xc3\xa7e").digest()[:16]
    assert person_digest(COLLECTION, "çe") == told == PEOPLE[32:48]
    assert person_digest("c1" * 16, "çe") != told
    # The same letters in another form of Unicode.
    assert person_digest(COLLECTION, "c\u0327e") == told


def test_ids_are_found_at_their_numbers_and_strangers_are_passed_over():
    assert people_numbers(COLLECTION, ["dora", "eve", "ann"], PEOPLE).tolist() == [0, 3]
    assert (
        people_numbers(COLLECTION, [], PEOPLE).tolist()
        == people_numbers(COLLECTION, ["ann"], b"").tolist()
        == []
    )
    # Others whose digests begin or end like hers are not her.
    ann = person_digest(COLLECTION, "ann")
    alike = ann[:8] + b"\xff" * 8 + b"\0" * 8 + ann[8:] + ann[:8] + b"\0" * 8
    assert people_numbers(COLLECTION, ["ann"], alike).tolist() == []
    assert people_numbers(COLLECTION, ["ann"], alike + ann).tolist() == [3]
    assert people_numbers("c1" * 16, NAMES, PEOPLE).tolist() == []


def test_somebody_with_two_numbers_is_refused_whether_the_owner_knows_them_or_not():
    twice = people_digests(COLLECTION, [*NAMES, "bob"])
    for known in (["bob"], ["ann"], []):
        with pytest.raises(MessageError, match="some people are there twice"):
            people_numbers(COLLECTION, known, twice)


@pytest.mark.parametrize("people", [PEOPLE[:-1], bytes(MAX_PEOPLE_BYTES + 16)])
def test_what_is_no_list_of_digests_is_refused(people):
    with pytest.raises(MessageError, match="digests of 16 bytes"):
        people_numbers(COLLECTION, NAMES, people)


def test_a_million_people_take_little_memory():
    """Half of the memory is the list itself: no object is made for each of them."""
    people = b"".join(number.to_bytes(16, "big") for number in range(1 << 20))
    tracemalloc.start()
    try:
        assert people_numbers(COLLECTION, ["ann"], people).size == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * MAX_PEOPLE_BYTES
