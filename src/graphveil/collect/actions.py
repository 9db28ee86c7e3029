"""What operators did, written down without anybody's name or number."""

from __future__ import annotations

import time

from sqlalchemy import Connection, insert

from graphveil.collect.schema import ACTIONS


def note(connection: Connection, action: str, detail: str) -> None:
    """Write down one thing, with how much of it."""
    connection.execute(insert(ACTIONS).values(at=int(time.time()), action=action, detail=detail))
