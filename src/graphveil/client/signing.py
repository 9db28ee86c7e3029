"""Signatures of questions and of successions of keys: Ed25519 (RFC 8032), by the library `cryptography`, which the extra `device` brings.

Nothing cryptographic is written here. Keys are the 32 raw bytes of RFC 8032.
"""

from __future__ import annotations

from typing import Any

from graphveil.errors import InputError, RefusalError
from graphveil.mechanisms.limits import MAX_MODEL
from graphveil.privacy import Question, SignedQuestion, SignedSuccession, Succession

KEY_BYTES = 32


def verified(signed: SignedQuestion, key: bytes, numbers: int = MAX_MODEL) -> Question:
    """The question, if this public key's owner has signed it; else it is not even read.

    ``numbers`` is how many its long lists may hold, of whatever key: see `graphveil.privacy.envelope.question_numbers`.
    """
    if not holds(key, signed.signature, signed.signed):
        raise RefusalError(
            "signature",
            "the question is not signed by the key of this collection that the device knows: it comes from somebody else, was changed on "
            "its way, or is signed by an older key",
        )
    return Question.from_payload(signed.payload, numbers)


def holds(key: bytes, signature: bytes, data: bytes) -> bool:
    """Whether this public key's owner has signed these bytes."""
    library = _library()
    try:
        library.Ed25519PublicKey.from_public_bytes(_raw(key)).verify(signature, data)
    except _invalid():
        return False
    return True


def sign_succession(succession: Succession, old: bytes, new: bytes) -> SignedSuccession:
    """A statement of succession with the signatures of the private key that goes and of the one that comes."""
    unsigned = SignedSuccession(succession.payload(), bytes(64), bytes(64))
    signatures = (
        _library().Ed25519PrivateKey.from_private_bytes(_raw(private)).sign(unsigned.signed)
        for private in (old, new)
    )
    return SignedSuccession(unsigned.payload, *signatures)


def sign(question: Question, private: bytes) -> SignedQuestion:
    """A question with the signature of this private key."""
    payload = question.payload()
    unsigned = SignedQuestion(payload, bytes(64))
    signature = _library().Ed25519PrivateKey.from_private_bytes(_raw(private)).sign(unsigned.signed)
    return SignedQuestion(payload, signature)


def new_key() -> bytes:
    """A private key, from the operating system's generator."""
    return bytes(_library().Ed25519PrivateKey.generate().private_bytes_raw())


def public_key(private: bytes) -> bytes:
    """The public key of a private one."""
    return bytes(
        _library().Ed25519PrivateKey.from_private_bytes(_raw(private)).public_key().public_bytes_raw()
    )


def _raw(key: bytes) -> bytes:
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InputError(f"a key must have {KEY_BYTES} bytes")
    return key


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise RefusalError(
            "library",
            "signatures cannot be checked without the library cryptography, so nothing is answered: "
            "pip install 'graphveil[device]'",
        ) from None
    return ed25519


def _invalid() -> Any:
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature
