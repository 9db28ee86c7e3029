"""Ids of people become the numbers of a collection, and no link can be answered for twice."""

import hashlib

import pytest

from graphveil.errors import MessageError
from graphveil.privacy.people import MAX_PEOPLE_BYTES, people_digests, people_numbers, person_digest

COLLECTION, NAMES = "c0" * 16, ["ann", "bob", "çe", "dora"]
PEOPLE = people_digests(COLLECTION, NAMES)


def test_a_digest_is_of_format_collection_and_id():
    told = hashlib.sha256(b"graphveil-person-1\n" + b"c0" * 16 + b"\n\xc3\xa7e").digest()[:16]
    assert person_digest(COLLECTION, "çe") == told == PEOPLE[32:48]
    assert person_digest("c1" * 16, "çe") != told


def test_ids_are_found_at_their_numbers_and_strangers_are_passed_over():
    assert people_numbers(COLLECTION, ["dora", "eve", "ann"], PEOPLE).tolist() == [3, 0]
    assert people_numbers(COLLECTION, [], PEOPLE).tolist() == []
    assert people_numbers("c1" * 16, NAMES, PEOPLE).tolist() == []


def test_somebody_with_two_numbers_is_refused_whether_the_owner_knows_them_or_not():
    twice = people_digests(COLLECTION, [*NAMES, "bob"])
    for known in (["bob"], ["ann"], []):
        with pytest.raises(MessageError, match="some are there twice"):
            people_numbers(COLLECTION, known, twice)


@pytest.mark.parametrize("people", [PEOPLE[:-1], bytes(MAX_PEOPLE_BYTES + 16)])
def test_what_is_no_list_of_digests_is_refused(people):
    with pytest.raises(MessageError, match="digests of 16 bytes"):
        people_numbers(COLLECTION, NAMES, people)
