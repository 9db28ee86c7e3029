"""Only the pinned key signs questions, and nothing is read before its signature was checked."""

import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from graphveil import InputError, Plan
from graphveil.client.keys import verified
from graphveil.errors import RefusalError
from graphveil.privacy import Question, SignedQuestion
from tests.client.support import public_key, refusal, sign

# RFC 8032, 7.1, test 1.
PRIVATE = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
PLAN = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(7,))
QUESTION = Question("c0" * 16, 2, 7, PLAN, 1_000, 2_000, "to learn what people like")


def refused(signed):
    return refusal(verified, signed, PUBLIC)


def test_a_public_key_is_the_one_that_the_standard_says():
    assert public_key(PRIVATE) == PUBLIC


def test_what_the_pinned_key_signed_is_read_and_nothing_else():
    assert verified(sign(QUESTION, PRIVATE), PUBLIC) == QUESTION
    assert refused(sign(QUESTION, bytes(32))) == "signature"
    with pytest.raises(InputError, match="32 bytes"):
        verified(sign(QUESTION, PRIVATE), b"short")


def test_a_changed_payload_or_signature_or_one_of_something_else_is_refused_before_it_is_read():
    signed = sign(QUESTION, PRIVATE)
    assert refused(SignedQuestion(b"no JSON at all", signed.signature)) == "signature"
    assert refused(SignedQuestion(signed.payload, bytes(64))) == "signature"
    bare = Ed25519PrivateKey.from_private_bytes(PRIVATE).sign(QUESTION.payload())
    assert refused(SignedQuestion(QUESTION.payload(), bare)) == "signature"


def test_without_the_library_nothing_is_verified_and_the_error_says_what_to_install(monkeypatch):
    signed = sign(QUESTION, PRIVATE)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(RefusalError, match=r"pip install 'graphveil\[device\]'") as caught:
        verified(signed, PUBLIC)
    assert caught.value.reason == "library"
