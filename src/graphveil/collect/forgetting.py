"""What is deleted: the reports of somebody who wants to be forgotten, and those whose time is over."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, select, update

from graphveil.collect import keys
from graphveil.collect.database import alone, note_deletion
from graphveil.collect.rounds import NODE
from graphveil.collect.schema import ACTIONS, REPORTS, RESULTS, ROSTER, ROUNDS, ROWS, SECONDS_A_DAY

# How the list of actions calls a deletion of what is too old.
EXPIRED = "expire"
# What somebody agreed to, and is of no use after.
AGREED = ("credential", "epsilon", "delta", "by_level", "renewal", "since", "excluded", "volunteer")


def forget(connection: Connection, node: int) -> int:
    """Delete reports and row of a user, who takes part no more, and mark what was learned with them; how many reports went.

    The id stays on the roster with the mark, so that nobody invites the user by mistake.
    """
    alone(connection)
    note_deletion(connection)
    rounds = set(connection.execute(select(REPORTS.c.round).where(REPORTS.c.node == node)).scalars())
    gone = _may_be_gone(connection, node)
    gave_row = connection.execute(delete(ROWS).where(ROWS.c.node == node)).rowcount > 0 or _row_may_be_gone(
        connection, node
    )
    connection.execute(delete(REPORTS).where(REPORTS.c.node == node))
    connection.execute(update(ROSTER).where(ROSTER.c.node == node).values(_left_of_somebody()))
    for number, card in connection.execute(select(RESULTS.c.number, RESULTS.c.card)).all():
        if _learned_from(json.loads(card), rounds | gone, gave_row):
            connection.execute(update(RESULTS).where(RESULTS.c.number == number).values(outdated=True))
    return len(rounds)


def _left_of_somebody() -> dict[str, Any]:
    """What the roster has of somebody who was forgotten, besides the id: the mark, and random bytes where columns need some."""
    drawn = {"pseudonym": keys.new_pseudonym(), "token": keys.hashed(keys.new_secret())}
    return dict.fromkeys(AGREED) | drawn | {"redeemed": False, "derived": False, "forgotten": True}


def delete_expired(connection: Connection, days: int) -> int:
    """Delete reports and rows that are older than so many days; how many. Rounds remember that theirs are gone."""
    alone(connection)
    oldest = int(time.time()) // SECONDS_A_DAY - days
    gone = connection.execute(
        select(REPORTS.c.round, func.count()).where(REPORTS.c.day < oldest).group_by(REPORTS.c.round)
    ).all()
    connection.execute(delete(REPORTS).where(REPORTS.c.day < oldest))
    rows = connection.execute(delete(ROWS).where(ROWS.c.day < oldest)).rowcount
    if gone or rows:
        note_deletion(connection)
    for number, count in gone:
        connection.execute(
            update(ROUNDS).where(ROUNDS.c.number == number).values(deleted=ROUNDS.c.deleted + count)
        )
    return sum(int(count) for _, count in gone) + int(rows)


def _learned_from(card: Any, rounds: set[int], gave_row: bool) -> bool:
    """Whether a result used one of these rounds, or the row; one that does not say what it used has used everything."""
    used = card.get("rounds")
    known = isinstance(used, list) and all(isinstance(each, int) for each in used)
    return bool(rounds & set(used) if known else rounds) or (gave_row and card.get("panel") is not False)


def _may_be_gone(connection: Connection, node: int) -> set[int]:
    """Rounds that asked a user and whose reports were deleted in part, their time being over: the user's may have been among them."""
    found = connection.execute(select(ROUNDS.c.number, ROUNDS.c.asked).where(ROUNDS.c.deleted > 0))
    return {number for number, asked in found if node in np.frombuffer(bytes(asked), NODE)}


def _row_may_be_gone(connection: Connection, node: int) -> bool:
    """Whether a user volunteered, and something was deleted because its time was over."""
    volunteered = select(ROSTER.c.volunteer).where(ROSTER.c.node == node)
    expired = select(ACTIONS.c.number).where(ACTIONS.c.action == EXPIRED).limit(1)
    return bool(connection.execute(volunteered).scalar()) and connection.execute(expired).first() is not None
