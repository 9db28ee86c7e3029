"""What operators did, written down without anybody's name or number."""

from __future__ import annotations

import secrets
import time

from sqlalchemy import Connection, PrimaryKeyConstraint, UniqueConstraint, delete, insert, select

from graphveil.collect.schema import ACTIONS, REPORTS, ROSTER, ROUNDS, ROWS


def note(connection: Connection, action: str, detail: str) -> None:
    """Write down one thing, with how much of it."""
    connection.execute(insert(ACTIONS).values(at=int(time.time()), action=action, detail=detail))


def try_storing(connection: Connection) -> None:
    """See whether uploads can be stored: write a row and delete it, which nobody ever sees, and read what an upload needs.

    One row is read by each index: a way down through every table and index, and no search for damage.
    """
    # A number of its own, so that several servers never wait for each other.
    number = -1 - secrets.randbelow(1 << 30)
    connection.execute(insert(ACTIONS).values(number=number, at=0, action="", detail=""))
    connection.execute(delete(ACTIONS).where(ACTIONS.c.number == number))
    for table in (ROSTER, ROUNDS, REPORTS, ROWS):
        if connection.dialect.name == "sqlite":
            # Where a table is empty, an index does not lead to it. PostgreSQL would look through all that it has not vacuumed yet.
            connection.execute(select(table).limit(1)).all()
        for each in table.constraints:
            if isinstance(each, PrimaryKeyConstraint | UniqueConstraint):
                latest = select(table).order_by(*(column.desc() for column in each.columns)).limit(1)
                connection.execute(latest).all()
