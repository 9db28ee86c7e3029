"""An invitation to take part: a secret that works once, and the key that signs the questions."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from graphveil.errors import InputError

SECRET_BYTES, KEY_BYTES = 16, 32
FORM = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, repr=False)
class Invitation:
    """``secret`` enrols one user, once; ``key`` is the collection's public key, so that the invitation itself pins it.

    >>> Invitation.read(Invitation(bytes(16), bytes(range(32))).token()).key[:4]
    b'\\x00\\x01\\x02\\x03'
    """

    secret: bytes
    key: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES or len(self.key) != KEY_BYTES:
            raise InputError(f"an invitation has a secret of {SECRET_BYTES} bytes and a key of {KEY_BYTES}")

    @property
    def secret_word(self) -> str:
        """The secret as it is sent at enrolment: base64url without padding."""
        return _word(self.secret)

    @property
    def secret_hash(self) -> bytes:
        """The SHA-256 of the secret, by which both sides remember it."""
        return hashlib.sha256(self.secret).digest()

    def token(self) -> str:
        """The invitation in one word: secret, a dot, key."""
        return f"{self.secret_word}.{_word(self.key)}"

    @classmethod
    def read(cls, token: str) -> Invitation:
        """Read a token; what is none is refused, without showing it."""
        found = FORM.fullmatch(token.strip())
        if found is None:
            raise InputError(
                "the token is none: it has 22 letters, digits, - or _, a dot, and 43 more; copy the whole of it"
            )
        secret, key = (base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)) for word in found.groups())
        return cls(secret, key)

    def __repr__(self) -> str:
        return "Invitation(…)"


def _word(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
