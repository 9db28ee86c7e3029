"""The credential of a device: a secret that the device draws itself, and of which a collector stores only the SHA-256."""

from __future__ import annotations

import hashlib
import re
import secrets

SECRET_BYTES = 32
# So many bytes in base64url, without padding.
FORM = re.compile(r"[A-Za-z0-9_-]{43}")


def new_credential() -> str:
    """Draw a credential from the operating system's generator.

    >>> FORM.fullmatch(new_credential()) is not None
    True
    """
    return secrets.token_urlsafe(SECRET_BYTES)


def credential_hash(credential: str) -> bytes:
    """Return the SHA-256 of a credential, as it is written.

    Nobody can guess 32 random bytes, so the hash needs neither a salt nor a slow function.

    >>> credential_hash("A" * 43).hex()[:16]
    '0f007385b6f9d4b7'
    """
    return hashlib.sha256(credential.encode("ascii")).digest()
