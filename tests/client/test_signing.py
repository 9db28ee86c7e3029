"""Only the pinned key signs questions, and nothing is read before its signature was checked."""

import sys
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from graphveil import InputError, Plan
from graphveil.client.keys import KeyChain, enrolled_chain, verified
from graphveil.errors import RefusalError
from graphveil.privacy import Question, SignedQuestion, SignedSuccession, Succession
from tests.client.support import COLLECTION, NOW, PUBLIC, private_key, public_key, refusal, sign, succession
from tests.together import together

# RFC 8032, 7.1, test 1.
STANDARD_PRIVATE = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
STANDARD_PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
PLAN = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(7,))
QUESTION = Question("c0" * 16, 2, 7, PLAN, 1_000, 2_000, "to learn what people like")


def refused(signed):
    return refusal(verified, signed, STANDARD_PUBLIC)


def test_a_public_key_is_the_one_that_the_standard_says():
    assert public_key(STANDARD_PRIVATE) == STANDARD_PUBLIC


def test_what_the_pinned_key_signed_is_read_and_nothing_else():
    assert verified(sign(QUESTION, STANDARD_PRIVATE), STANDARD_PUBLIC) == QUESTION
    assert refused(sign(QUESTION, bytes(32))) == "signature"
    with pytest.raises(InputError, match="32 bytes"):
        verified(sign(QUESTION, STANDARD_PRIVATE), b"short")


def test_a_changed_payload_or_signature_or_one_of_something_else_is_refused_before_it_is_read():
    signed = sign(QUESTION, STANDARD_PRIVATE)
    assert refused(SignedQuestion(b"no JSON at all", signed.signature)) == "signature"
    assert refused(SignedQuestion(signed.payload, bytes(64))) == "signature"
    bare = Ed25519PrivateKey.from_private_bytes(STANDARD_PRIVATE).sign(QUESTION.payload())
    assert refused(SignedQuestion(QUESTION.payload(), bare)) == "signature"


def test_without_the_library_nothing_is_verified_and_the_error_says_what_to_install(monkeypatch):
    signed = sign(QUESTION, STANDARD_PRIVATE)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(RefusalError, match=r"pip install 'graphveil\[device\]'") as caught:
        verified(signed, STANDARD_PUBLIC)
    assert caught.value.reason == "library"


FIRST, SECOND, THIRD = succession(1), succession(2), succession(3)
KEYS = [public_key(private_key(number)) for number in range(4)]
NEW = KeyChain(COLLECTION, PUBLIC)


def test_a_chain_is_followed_one_by_one_or_all_at_once():
    step = NEW.followed([FIRST])
    assert step.keys == tuple(KEYS[:2]) and step.current == KEYS[1]
    whole = NEW.followed([FIRST, SECOND, THIRD])
    assert whole.keys == tuple(KEYS) and whole.number == 3
    assert step.followed([FIRST, SECOND, THIRD]) == whole
    assert step.followed([FIRST]) == step and NEW.followed([]) == NEW


# What is wrong, what is shown to a device that has followed the first change, and what it says.
def signed_by(private, payload):
    """Any bytes in the place of a statement, signed by the key that counts."""
    unsigned = SignedSuccession(payload, bytes(64), bytes(64))
    return replace(unsigned, old=Ed25519PrivateKey.from_private_bytes(private).sign(unsigned.signed))


WRONG = {
    "rollback to none": ([], "the server shows 0 changes of the key, and this device has followed 1"),
    "fork of a known one": ([succession(1, new=bytes([9]) * 32)], "another change of the key as number 1"),
    "fork by another date": ([succession(1, made=NOW + 2)], "another change of the key as number 1"),
    "gap": ([FIRST, THIRD], "not signed by the old key that this device knows: one is missing"),
    "gap by number alone": ([FIRST, succession(2, number=3)], "has the number 3"),
    "the same again": ([FIRST, FIRST], "one is missing or is there twice"),
    "from the key before": (
        [FIRST, succession(2, old=private_key(0))],
        "not signed by the old key that this device knows",
    ),
    "from a stranger's key": ([FIRST, succession(2, old=bytes([9]) * 32)], "not signed by the old key"),
    "from another key than has signed it": (
        [FIRST, succession(2, before=KEYS[0])],
        "does not pass on from the key that has signed it",
    ),
    "back to the first key": (
        [FIRST, succession(2, new=private_key(0))],
        "passes to a key that was one before",
    ),
    "to itself": ([FIRST, succession(2, new=private_key(1))], "passes to a key that was one before"),
    "of another collection": ([FIRST, succession(2, collection="c1" * 16)], "belongs to another collection"),
    "older than the last": ([FIRST, succession(2, made=NOW)], "is older than the one before it"),
    "not signed by the old key": (
        [FIRST, replace(SECOND, old=SECOND.new)],
        "change 2 of the key is not signed by the old key",
    ),
    "not signed by the new key": (
        [FIRST, replace(SECOND, new=SECOND.old)],
        "change 2 of the key is not signed by the new key",
    ),
    "changed after it was signed": (
        [FIRST, replace(SECOND, payload=succession(2, made=NOW + 9).payload)],
        "not signed by the old key",
    ),
    "no statement": ([FIRST, SignedSuccession(b"{}", bytes(64), bytes(64))], "not signed by the old key"),
    "no statement, but signed": ([FIRST, signed_by(private_key(1), b"{}")], "cannot be read"),
    "wrong after a right one": (
        [FIRST, SECOND, succession(3, number=4)],
        "change 3 of the key has the number 4",
    ),
}


@together("which", WRONG)
def test_nothing_else_moves_a_device(which):
    shown, said = WRONG[which]
    with pytest.raises(RefusalError, match=said) as caught:
        NEW.followed([FIRST]).followed(shown)
    assert caught.value.reason == "key"


def test_an_invitation_is_good_whichever_key_of_the_chain_it_has():
    for number in range(3):
        chain = enrolled_chain(COLLECTION, KEYS[number], KEYS[2], [FIRST, SECOND])
        assert chain.keys == tuple(KEYS[:3])
    assert enrolled_chain(COLLECTION, PUBLIC, PUBLIC, []) == NEW


@pytest.mark.parametrize(
    ("invited", "offered", "served"),
    [
        (KEYS[0], KEYS[1], []),
        (KEYS[3], KEYS[2], [FIRST, SECOND]),
        (KEYS[0], KEYS[1], [FIRST, SECOND]),
        (KEYS[0], KEYS[0], [FIRST]),
        (KEYS[1], KEYS[2], [SECOND]),
        (KEYS[0], KEYS[2], [FIRST, replace(SECOND, old=SECOND.new)]),
        (KEYS[0], KEYS[1], [SignedSuccession(b"{}", bytes(64), bytes(64))]),
    ],
)
def test_an_invitation_by_a_key_that_leads_nowhere_is_refused(invited, offered, served):
    assert refusal(enrolled_chain, COLLECTION, invited, offered, served) == "key"


def test_a_long_chain_is_read_once(monkeypatch):
    read, parse = [], Succession.from_payload
    monkeypatch.setattr(Succession, "from_payload", lambda payload: read.append(1) or parse(payload))
    served = [succession(number) for number in range(1, 41)]
    chain = NEW.followed(served)
    assert chain.number == 40 and len(read) == 40
