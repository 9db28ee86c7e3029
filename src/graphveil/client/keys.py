"""The keys of a collection: signatures, and the chain in which one key follows another.

Signatures are Ed25519 (RFC 8032), by the library `cryptography`, which the extra `device` brings; keys are the 32 raw bytes of RFC 8032.

A device knows the first key that its invitation pins, or that came before it, and every succession since. It takes one more only if it is the next by
its number, passes from the very key that the device believes to one that never was a key here, is about this collection, is no older than the
last, and is signed by both keys. Nothing else moves the device: not a gap, nor another statement in the place of a known one (a fork),
nor fewer statements than it has seen (a rollback). Budgets have nothing to do with keys: books, caps and kept answers are the collection's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphveil.errors import InputError, MessageError, RefusalError
from graphveil.mechanisms.limits import MAX_MODEL
from graphveil.privacy import Question, SignedQuestion, SignedSuccession, Succession

KEY_BYTES = 32


def holds(key: bytes, signature: bytes, data: bytes) -> bool:
    """Return whether the owner of a public key has signed these bytes.

    Parameters
    ----------
    key
        The public key, 32 bytes.
    signature
        The signature, 64 bytes.
    data
        The bytes that were signed.
    """
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InputError(f"a key must have {KEY_BYTES} bytes")
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise RefusalError(
            "library",
            "signatures cannot be checked without the library cryptography, so nothing is answered: "
            "pip install 'graphveil[device]'",
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def verified(signed: SignedQuestion, key: bytes, numbers: int = MAX_MODEL) -> Question:
    """Return the question if the owner of a public key has signed it; else it is not even read.

    Parameters
    ----------
    signed
        The signed question.
    key
        The public key, 32 bytes.
    numbers
        The most numbers that its long lists may hold: see `graphveil.privacy.envelope.question_numbers`.
    """
    if not holds(key, signed.signature, signed.signed):
        raise RefusalError(
            "signature",
            "the question is not signed by the key of this collection that the device knows: it comes from somebody else, was changed on "
            "its way, or is signed by an older key",
        )
    return Question.from_payload(signed.payload, numbers)


@dataclass(frozen=True)
class KeyChain:
    """``first`` is the key that a collection began with, as far as the device was shown; ``statements`` what it has followed since."""

    collection: str
    first: bytes
    statements: tuple[SignedSuccession, ...] = ()

    @property
    def number(self) -> int:
        """The number of changes followed."""
        return len(self.statements)

    @property
    def keys(self) -> tuple[bytes, ...]:
        """All keys, in their order; the last is the one that counts."""
        return (self.first, *(each.statement.after for each in self.statements))

    @property
    def current(self) -> bytes:
        """The key that signs questions."""
        return self.keys[-1]

    def followed(self, served: Sequence[SignedSuccession]) -> KeyChain:
        """The chain as a server shows it now, if it goes on from this one; a RefusalError says why not."""
        if len(served) < self.number:
            raise _refused(
                f"the server shows {len(served)} changes of the key, and this device has followed {self.number}: it was set back, or is not "
                "the collection's own"
            )
        for known, shown in zip(self.statements, served, strict=False):
            if known.payload != shown.payload:
                raise _refused(
                    f"the server shows another change of the key as number {known.statement.number} than this device has followed: there are "
                    "two successors, and only one can be right"
                )
        keys, made = list(self.keys), self.statements[-1].statement.made if self.statements else 0
        for shown in served[self.number :]:
            told = self._next(shown, keys, made)
            keys.append(told.after)
            made = told.made
        return KeyChain(self.collection, self.first, (*self.statements, *served[self.number :]))

    def _next(self, shown: SignedSuccession, keys: list[bytes], made: int) -> Succession:
        """The statement that comes next after these keys, checked; what the last of them has not signed is not even read."""
        number = len(keys)
        if not holds(keys[-1], shown.old, shown.signed):
            raise _refused(
                f"change {number} of the key is not signed by the old key that this device knows: one is missing or is there twice, "
                "or it is not the collection's own"
            )
        told = _statement(shown)
        wrong = {
            "belongs to another collection": told.collection != self.collection,
            f"has the number {told.number}: one is missing, or is there twice": told.number != number,
            "does not pass on from the key that has signed it": told.before != keys[-1],
            "passes to a key that was one before": told.after in keys,
            "is older than the one before it": told.made < made,
            "is not signed by the new key": not holds(told.after, shown.new, shown.signed),
        }
        for said, is_wrong in wrong.items():
            if is_wrong:
                raise _refused(f"change {number} of the key {said}")
        return told


def enrolled_chain(
    collection: str, invited: bytes, offered: bytes, served: Sequence[SignedSuccession]
) -> KeyChain:
    """Return the chain of a collection that invites by one key and now offers another, or the same.

    The invitation's key must be in it. An invitation from before a change is good for a device that enrols after it: its key has signed what came next;
    of what came before, that it is its successor.

    Parameters
    ----------
    collection
        The collection's id.
    invited
        The key of the invitation.
    offered
        The key that the collection has now.
    served
        The changes of the key that the server shows.
    """
    first = _statement(served[0]).before if served else invited
    chain = KeyChain(collection, first).followed(served)
    if invited not in chain.keys or chain.current != offered:
        raise _refused(
            "the server has another key than the invitation says, and no succession leads from one to the other: it is not the collection that "
            "invited you"
        )
    return chain


def _statement(signed: SignedSuccession) -> Succession:
    try:
        return signed.statement
    except MessageError as error:
        raise _refused(f"a change of the key cannot be read: {error}") from None


def _refused(why: str) -> RefusalError:
    return RefusalError("key", why)
