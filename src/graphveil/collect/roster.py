"""The roster: who was invited, who has enrolled, and what they agreed to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, insert, select, update

from graphveil.collect import keys
from graphveil.collect.schema import REPORTS, ROSTER, ROWS, SECONDS_A_DAY

CHUNK = 10_000


@dataclass(frozen=True, eq=False)
class Roster:
    """All who were invited, by node number: arrays of the same length. ``epsilon`` and ``delta`` are caps, 0 before enrolment.

    ``excluded`` are the attributes that no question to the user may depend on. Whoever was forgotten is not enrolled.
    """

    node: NDArray[np.int64]
    external: tuple[str, ...]
    pseudonym: tuple[bytes, ...]
    epsilon: NDArray[np.float64]
    delta: NDArray[np.float64]
    excluded: tuple[tuple[int, ...], ...]
    by_level: tuple[tuple[float, ...] | None, ...]
    # In days; 0 where a cap is for life. And the day of the enrolment.
    renewal: NDArray[np.int64]
    since: NDArray[np.int64]
    volunteer: NDArray[np.bool_]
    enrolled: NDArray[np.bool_]
    forgotten: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class Agreement:
    """What a user agrees to at enrolment: a cap, more of it for each privacy level, and after how many days it is renewed.

    Without a renewal a cap is for life.
    """

    epsilon: float
    delta: float = 0.0
    excluded: tuple[int, ...] = ()
    volunteer: bool = False
    by_level: tuple[float, ...] | None = None
    renewal: int | None = None


@dataclass(frozen=True)
class Member:
    """Somebody on the roster, as requests need it."""

    node: int
    pseudonym: bytes
    volunteer: bool


@dataclass(frozen=True)
class Invited:
    """Whom a token was made for; it is shown once and stored hashed."""

    node: int
    external: str
    pseudonym: bytes
    secret: bytes


def read_roster(connection: Connection) -> Roster:
    """Everybody who was invited."""
    rows = connection.execute(select(ROSTER).order_by(ROSTER.c.node)).all()
    return Roster(
        node=np.array([row.node for row in rows], dtype=np.int64),
        external=tuple(row.external for row in rows),
        pseudonym=tuple(bytes(row.pseudonym) for row in rows),
        epsilon=np.array([row.epsilon or 0.0 for row in rows], dtype=np.float64),
        delta=np.array([row.delta or 0.0 for row in rows], dtype=np.float64),
        excluded=tuple(tuple(json.loads(row.excluded)) if row.excluded else () for row in rows),
        by_level=tuple(_levels(row.by_level) for row in rows),
        renewal=np.array([row.renewal or 0 for row in rows], dtype=np.int64),
        since=np.array([row.since or 0 for row in rows], dtype=np.int64),
        volunteer=np.array([bool(row.volunteer) for row in rows], dtype=bool),
        enrolled=np.array([row.credential is not None for row in rows], dtype=bool),
        forgotten=np.array([bool(row.forgotten) for row in rows], dtype=bool),
    )


def invite(connection: Connection, ids: Sequence[str]) -> list[Invited]:
    """Put everybody on the roster who is not on it yet; ids stand in the order of nodes."""
    there = set(connection.execute(select(ROSTER.c.node)).scalars())
    invited = [
        Invited(node, str(name), keys.new_pseudonym(), keys.new_secret())
        for node, name in enumerate(ids)
        if node not in there
    ]
    _add(connection, invited)
    return invited


def invite_again(connection: Connection, ids: Iterable[str]) -> list[Invited]:
    """New tokens for those of these who were invited and have not enrolled: the old ones work no more."""
    renewed = []
    for name in ids:
        row = connection.execute(select(ROSTER).where(ROSTER.c.external == name)).one_or_none()
        if row is None or row.credential is not None or row.forgotten:
            continue
        secret = keys.new_secret()
        connection.execute(update(ROSTER).where(ROSTER.c.node == row.node).values(token=keys.hashed(secret)))
        renewed.append(Invited(row.node, row.external, bytes(row.pseudonym), secret))
    return renewed


def _add(connection: Connection, invited: Sequence[Invited]) -> None:
    rows = [
        {
            "node": each.node,
            "external": each.external,
            "pseudonym": each.pseudonym,
            "token": keys.hashed(each.secret),
            "forgotten": False,
        }
        for each in invited
    ]
    for start in range(0, len(rows), CHUNK):
        connection.execute(insert(ROSTER), rows[start : start + CHUNK])


def find_invited(connection: Connection, secret: bytes) -> Row[Any] | None:
    """The row of the roster that a token's secret belongs to, unless its user was forgotten."""
    found = connection.execute(
        select(ROSTER).where(ROSTER.c.token == keys.hashed(secret), ROSTER.c.forgotten.is_(False))
    )
    return found.one_or_none()


def enrol(connection: Connection, key: keys.SigningKey, secret: bytes, agreed: Agreement) -> Member | None:
    """Enrol whoever holds this secret; None where it was used in another way, or by somebody who has sent something since.

    The same enrolment again is the same: an answer that was lost is no lost user. By another key it has another credential, and that one counts.
    """
    row = find_invited(connection, secret)
    if row is None:
        return None
    own = update(ROSTER).where(ROSTER.c.node == row.node)
    credential = keys.hashed(key.credential(row.node, bytes(row.pseudonym)).encode())
    if row.credential is None:
        connection.execute(
            own.values(
                credential=credential,
                epsilon=agreed.epsilon,
                delta=agreed.delta,
                excluded=json.dumps(list(agreed.excluded)),
                volunteer=agreed.volunteer,
                by_level=None if agreed.by_level is None else json.dumps(list(agreed.by_level)),
                renewal=agreed.renewal,
                since=int(time.time()) // SECONDS_A_DAY,
            )
        )
        return Member(row.node, bytes(row.pseudonym), agreed.volunteer)
    before = Agreement(
        row.epsilon,
        row.delta,
        tuple(json.loads(row.excluded)),
        bool(row.volunteer),
        _levels(row.by_level),
        row.renewal,
    )
    if before != agreed or _has_sent(connection, row.node):
        return None
    if bytes(row.credential) != credential:
        connection.execute(own.values(credential=credential))
    return Member(row.node, bytes(row.pseudonym), agreed.volunteer)


def find_member(connection: Connection, credential: str) -> Member | None:
    """Whose credential this is."""
    columns = (ROSTER.c.node, ROSTER.c.pseudonym, ROSTER.c.volunteer)
    row = connection.execute(
        select(*columns).where(ROSTER.c.credential == keys.hashed(credential.encode()))
    ).one_or_none()
    return None if row is None else Member(row.node, bytes(row.pseudonym), bool(row.volunteer))


def _levels(told: str | None) -> tuple[float, ...] | None:
    return None if told is None else tuple(json.loads(told))


def _has_sent(connection: Connection, node: int) -> bool:
    return any(
        connection.execute(select(table.c.node).where(table.c.node == node).limit(1)).first() is not None
        for table in (REPORTS, ROWS)
    )
