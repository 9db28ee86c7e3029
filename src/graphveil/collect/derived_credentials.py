"""Credentials that collectors of earlier versions derived from their key, checked for one purpose: to register a device's own.

The holder of a collection's key can make such a credential for anybody. So it is taken only from the device of a user who has not registered yet, only
once, and only while the key that made it is the collection's: `graphveil collect rotate` ends it.
"""

from __future__ import annotations

import base64
import hmac
import re

from sqlalchemy import Connection, select, update

from graphveil.collect import keys
from graphveil.collect.roster import is_taken
from graphveil.collect.schema import ROSTER

INFO = b"graphveil-credential-1"
# A node, a pseudonym and a tag of 32 bytes, in base64url.
NODE_BYTES, FORM = 4, re.compile(r"[A-Za-z0-9_-]{70}")
WHOSE_BYTES = NODE_BYTES + keys.PSEUDONYM_BYTES


def holder(key: keys.SigningKey, credential: str) -> int | None:
    """Return the node of a credential that this key has made; None for any other."""
    if FORM.fullmatch(credential) is None:
        return None
    data = base64.urlsafe_b64decode(credential + "=" * (-len(credential) % 4))
    whose, tag = data[:WHOSE_BYTES], data[WHOSE_BYTES:]
    if not hmac.compare_digest(tag, hmac.digest(key.derived(INFO), whose, "sha256")):
        return None
    return int.from_bytes(whose[:NODE_BYTES], "big")


def register(connection: Connection, node: int, credential: str, own: bytes) -> bool:
    """Replace a derived credential by the device's own, given as its hash, and say whether that one counts now.

    The same again is answered alike, so that a lost answer can be asked for.
    """
    row = connection.execute(
        select(ROSTER.c.credential, ROSTER.c.derived).where(ROSTER.c.node == node).with_for_update()
    ).one_or_none()
    if row is None or row.credential is None:
        return False
    if not row.derived:
        return bytes(row.credential) == own
    if bytes(row.credential) != keys.hashed(credential.encode("ascii")) or is_taken(connection, own, node):
        return False
    connection.execute(update(ROSTER).where(ROSTER.c.node == node).values(credential=own, derived=False))
    return True
