"""What is deleted: the reports of somebody who wants to be forgotten, and those whose time is over."""

from __future__ import annotations

import json
import time

from sqlalchemy import Connection, delete, func, select, update

from graphveil.collect.database import alone
from graphveil.collect.schema import REPORTS, RESULTS, ROSTER, ROUNDS, ROWS, SECONDS_A_DAY

# What somebody agreed to, and is of no use after.
AGREED = ("credential", "epsilon", "delta", "by_level", "renewal", "since", "excluded", "volunteer")


def forget(connection: Connection, node: int) -> int:
    """Delete reports and row of a user, who takes part no more, and mark what was learned with them; how many reports went."""
    alone(connection)
    rounds = set(connection.execute(select(REPORTS.c.round).where(REPORTS.c.node == node)).scalars())
    gave_row = connection.execute(delete(ROWS).where(ROWS.c.node == node)).rowcount > 0
    connection.execute(delete(REPORTS).where(REPORTS.c.node == node))
    connection.execute(
        update(ROSTER).where(ROSTER.c.node == node).values({"forgotten": True, **dict.fromkeys(AGREED)})
    )
    for number, card in connection.execute(select(RESULTS.c.number, RESULTS.c.card)).all():
        if gave_row or _learned_from(card, rounds):
            connection.execute(update(RESULTS).where(RESULTS.c.number == number).values(outdated=True))
    return len(rounds)


def delete_expired(connection: Connection, days: int) -> int:
    """Delete reports and rows that are older than so many days; how many. Rounds remember that theirs are gone."""
    alone(connection)
    oldest = int(time.time()) // SECONDS_A_DAY - days
    gone = connection.execute(
        select(REPORTS.c.round, func.count()).where(REPORTS.c.day < oldest).group_by(REPORTS.c.round)
    ).all()
    connection.execute(delete(REPORTS).where(REPORTS.c.day < oldest))
    rows = connection.execute(delete(ROWS).where(ROWS.c.day < oldest)).rowcount
    for number, count in gone:
        connection.execute(
            update(ROUNDS).where(ROUNDS.c.number == number).values(deleted=ROUNDS.c.deleted + count)
        )
    return sum(int(count) for _, count in gone) + int(rows)


def _learned_from(card: str, rounds: set[int]) -> bool:
    """Whether a result used one of these rounds; one that does not say which used all."""
    used = json.loads(card).get("rounds")
    if not isinstance(used, list) or not all(isinstance(each, int) for each in used):
        return bool(rounds)
    return bool(rounds & set(used))
