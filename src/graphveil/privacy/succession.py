"""Statements of succession of a collection's key, each signed by the old key and by the new one.

Signatures are made and checked elsewhere: nothing here knows about keys but what they look like.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphveil.errors import MessageError
from graphveil.privacy.envelope import (
    MAX_SECONDS,
    Signed,
    check_hex,
    check_integer,
    read_object,
    statement_bytes,
)

FORMAT = "graphveil-succession-1"
# What is signed begins with this, so that no signature of a succession is one of a question.
PREFIX = FORMAT.encode("ascii") + b"\n"
KEY_BYTES = 32
# Nobody rotates a key so often; and a statement is two keys and a few words.
MAX_SUCCESSIONS, MAX_STATEMENT, STATEMENT_VALUES = 1000, 512, 32
# A list of all of them: each has three words in base64 with their names, which is 16 signs of JSON.
SUCCESSIONS_BYTES, SUCCESSIONS_VALUES = 1024 * MAX_SUCCESSIONS, 16 * MAX_SUCCESSIONS + 1


@dataclass(frozen=True)
class Succession:
    """The ``number``-th change of a collection's key, from 1: from ``before`` to ``after``, made at so many seconds since 1970."""

    collection: str
    number: int
    before: bytes
    after: bytes
    made: int

    def __post_init__(self) -> None:
        check_hex(self.collection, "collection", 16)
        check_integer(self.number, "number", 1, MAX_SUCCESSIONS)
        check_integer(self.made, "made", 0, MAX_SECONDS)
        if not len(self.before) == len(self.after) == KEY_BYTES:
            raise MessageError(f"keys of a succession must have {KEY_BYTES} bytes")

    def payload(self) -> bytes:
        """The bytes that are signed: JSON in ASCII, keys sorted, no white space."""
        keys = {"before": self.before.hex(), "after": self.after.hex()}
        return statement_bytes({**vars(self), **keys, "format": FORMAT})

    @classmethod
    def from_payload(cls, payload: bytes) -> Succession:
        """Read a statement; what is wrong with it is said in a MessageError."""
        told = read_object(payload, "succession", MAX_STATEMENT, STATEMENT_VALUES)
        names = (*cls.__dataclass_fields__, "format")
        if set(told) != set(names) or told["format"] != FORMAT:
            raise MessageError(
                f"a succession has the fields {', '.join(sorted(names))} and the format {FORMAT}: it is damaged, or update graphveil"
            )
        keys = {
            name: bytes.fromhex(check_hex(told[name], f"key {name}", KEY_BYTES))
            for name in ("before", "after")
        }
        return cls(told["collection"], told["number"], keys["before"], keys["after"], told["made"])


@dataclass(frozen=True)
class SignedSuccession(Signed):
    """A statement's bytes with the signatures of the key before and of the key after."""

    noun, prefix, most = "succession", PREFIX, MAX_STATEMENT

    old: bytes
    new: bytes

    @property
    def statement(self) -> Succession:
        """The content of the statement; who signed it is not checked here."""
        return Succession.from_payload(self.payload)
