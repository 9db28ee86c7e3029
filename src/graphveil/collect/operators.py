"""Operators: what they did, without anybody's name or number, and who of them may look at a collection from elsewhere."""

from __future__ import annotations

import re
import secrets
import time

from sqlalchemy import Connection, delete, insert, select

from graphveil.collect.keys import hashed, word
from graphveil.collect.schema import ACTIONS, OPERATORS
from graphveil.errors import InputError

NAME_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TOKEN_BYTES = 32


def note(connection: Connection, action: str, detail: str) -> None:
    """Write down one thing, with how much of it."""
    connection.execute(insert(ACTIONS).values(at=int(time.time()), action=action, detail=detail))


def add_operator(connection: Connection, name: str) -> str:
    """A token for somebody who may operate over HTTP; it is shown once."""
    if NAME_FORM.fullmatch(name) is None:
        raise InputError(
            f"an operator's name has up to 64 letters, digits, dots, dashes or underscores, got {name!r}: choose such a name"
        )
    if name in read_operators(connection):
        raise InputError(f"there is an operator {name!r} already: revoke that token first, with --revoke")
    token = word(secrets.token_bytes(TOKEN_BYTES))
    note(connection, "operator", "1 token made")
    connection.execute(
        insert(OPERATORS).values(name=name, token=hashed(token.encode()), added=int(time.time()))
    )
    return token


def revoke_operator(connection: Connection, name: str) -> None:
    """The token of this operator works no more."""
    if not connection.execute(delete(OPERATORS).where(OPERATORS.c.name == name)).rowcount:
        known = ", ".join(read_operators(connection)) or "there is none"
        raise InputError(f"there is no operator {name!r}: operators are those who have a token ({known})")
    note(connection, "operator", "1 token taken back")


def read_operators(connection: Connection) -> list[str]:
    """The names of all operators who have a token."""
    return list(connection.execute(select(OPERATORS.c.name).order_by(OPERATORS.c.name)).scalars())


def find_operator(connection: Connection, token: str) -> str | None:
    """Whose token this is."""
    found = connection.execute(select(OPERATORS.c.name).where(OPERATORS.c.token == hashed(token.encode())))
    return found.scalar_one_or_none()
