"""What arrives: many reports in one transaction, each stored, there already, or refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from graphveil.collect.database import beside_others
from graphveil.collect.schema import REPORTS, ROSTER, ROWS, SECONDS_A_DAY


class ArrivalOutcome(Enum):
    """What became of a report or a row."""

    STORED = "stored"
    AGAIN = "the same bytes were there"
    OTHER = "other bytes were there"
    CLOSED = "the round is closed"
    FORGOTTEN = "the user was forgotten"


class Arrival(NamedTuple):
    """A checked report of one user in one round."""

    round: int
    node: int
    report: bytes
    message: bytes


def store(connection: Connection, arrivals: Sequence[Arrival], careful: bool = True) -> list[ArrivalOutcome]:
    """Store all that can be stored, and say of each what became of it; nothing is durable before the transaction is.

    Without ``careful`` an id that another report has raises an IntegrityError: then everything is to be stored again, carefully.
    """
    beside_others(connection)
    nodes = _listed({each.node for each in arrivals})
    rounds = _listed({each.round for each in arrivals})
    # Words, and numbers in them: expressions would be built, and compiled, for each commit anew.
    closed = dict(_rows(connection, f"SELECT number, closed FROM rounds WHERE number IN ({rounds})"))
    active = {
        node
        for (node,) in _rows(
            connection, f"SELECT node FROM roster WHERE node IN ({nodes}) AND credential IS NOT NULL"
        )
    }
    there = {
        (round, node): (bytes(report), bytes(message))
        for round, node, report, message in _rows(
            connection,
            f"SELECT round, node, report, message FROM reports WHERE round IN ({rounds}) AND node IN ({nodes})",
        )
    }
    taken = _taken(connection, arrivals) if careful else set[tuple[int, bytes]]()
    day = int(time.time()) // SECONDS_A_DAY
    outcomes, fresh = [], []
    for each in arrivals:
        key, content = (each.round, each.node), (each.report, each.message)
        if each.node not in active:
            outcome = ArrivalOutcome.FORGOTTEN
        elif key in there:
            outcome = ArrivalOutcome.AGAIN if there[key] == content else ArrivalOutcome.OTHER
        elif closed.get(each.round, True):
            outcome = ArrivalOutcome.CLOSED
        elif (each.round, each.report) in taken:
            outcome = ArrivalOutcome.OTHER
        else:
            outcome = ArrivalOutcome.STORED
            there[key] = content
            taken.add((each.round, each.report))
            fresh.append((*each, day))
        outcomes.append(outcome)
    if fresh:
        # In one order in every process, so that two of them never wait for each other.
        connection.exec_driver_sql(_insertion(connection), sorted(fresh))
    return outcomes


def _insertion(connection: Connection) -> str:
    """How the driver is told to store a report."""
    place = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    columns = (*Arrival._fields, "day")
    return f"INSERT INTO reports ({', '.join(columns)}) VALUES ({', '.join([place] * len(columns))})"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in sorted(numbers))


def _rows(connection: Connection, words: str) -> Sequence[Any]:
    return connection.exec_driver_sql(words).all()


def _taken(connection: Connection, arrivals: Sequence[Arrival]) -> set[tuple[int, bytes]]:
    """Ids that reports have already, with their rounds."""
    chosen = select(REPORTS.c.round, REPORTS.c.report).where(
        REPORTS.c.round.in_({each.round for each in arrivals}),
        REPORTS.c.report.in_({each.report for each in arrivals}),
    )
    return {(row.round, bytes(row.report)) for row in connection.execute(chosen)}


def store_row(connection: Connection, node: int, numbers: bytes) -> ArrivalOutcome:
    """Keep the raw row of a volunteer."""
    beside_others(connection)
    active = connection.execute(
        select(ROSTER.c.node).where(
            ROSTER.c.node == node, ROSTER.c.credential.is_not(None), ROSTER.c.volunteer.is_(True)
        )
    ).first()
    if active is None:
        return ArrivalOutcome.FORGOTTEN
    there = connection.execute(select(ROWS.c.numbers).where(ROWS.c.node == node)).scalar_one_or_none()
    if there is not None:
        return ArrivalOutcome.AGAIN if bytes(there) == numbers else ArrivalOutcome.OTHER
    connection.execute(insert(ROWS).values(node=node, numbers=numbers, day=int(time.time()) // SECONDS_A_DAY))
    return ArrivalOutcome.STORED
