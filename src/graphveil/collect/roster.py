"""The roster: who was invited, who has enrolled, what they agreed to, and whose cap leaves room for a plan."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, insert, select, update

from graphveil.collect import keys
from graphveil.collect.schema import ROSTER, SECONDS_A_DAY
from graphveil.mechanisms.personal import level_budgets
from graphveil.privacy import Plan
from graphveil.privacy.ledger import DUST

CHUNK = 10_000

# Credentials that collectors of earlier versions derived from their key are checked for one purpose: to register a device's own.
# The holder of a collection's key can make such a credential for anybody. So it is taken only from the device of a user who has not
# registered yet, only once, and only while the key that made it is the collection's: `graphveil collect rotate` ends it.
INFO = b"graphveil-credential-1"
# A node, a pseudonym and a tag of 32 bytes, in base64url.
NODE_BYTES, DERIVED_FORM = 4, re.compile(r"[A-Za-z0-9_-]{70}")
WHOSE_BYTES = NODE_BYTES + keys.PSEUDONYM_BYTES

Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Roster:
    """All who were invited, by node number: arrays of the same length. ``epsilon`` and ``delta`` are caps, 0 before enrolment.

    ``excluded`` are the attributes that no question to the user may depend on. Forgotten users are not enrolled. ``derived`` are
    those whose device has not registered a credential of its own yet.
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
    derived: NDArray[np.bool_]
    forgotten: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class RosterAgreement:
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


class Refused(Enum):
    """Why somebody is not enrolled, though the token is known."""

    USED = "the token was used by another device"
    TAKEN = "somebody else has the same credential"
    TERMS = "the user has agreed to other terms before"


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
        derived=np.array([row.credential is not None and row.derived for row in rows], dtype=bool),
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
    """Make new tokens for those of these who were invited and not forgotten; their old tokens are void.

    Somebody who is enrolled keeps everything. When the new token is used, the device that uses it registers another credential.
    """
    renewed = []
    for name in ids:
        row = connection.execute(select(ROSTER).where(ROSTER.c.external == name)).one_or_none()
        if row is None or row.forgotten:
            continue
        secret = keys.new_secret()
        connection.execute(
            update(ROSTER).where(ROSTER.c.node == row.node).values(token=keys.hashed(secret), redeemed=False)
        )
        renewed.append(Invited(row.node, row.external, bytes(row.pseudonym), secret))
    return renewed


def _add(connection: Connection, invited: Sequence[Invited]) -> None:
    rows = [
        {
            "node": each.node,
            "external": each.external,
            "pseudonym": each.pseudonym,
            "token": keys.hashed(each.secret),
            "redeemed": False,
            "derived": False,
            "forgotten": False,
        }
        for each in invited
    ]
    for start in range(0, len(rows), CHUNK):
        connection.execute(insert(ROSTER), rows[start : start + CHUNK])


def is_invited(connection: Connection, secret: bytes) -> bool:
    """Return whether a token's secret belongs to somebody who was not forgotten."""
    return connection.execute(_invited(secret)).first() is not None


def _invited(secret: bytes) -> Select[Any]:
    return select(ROSTER).where(ROSTER.c.token == keys.hashed(secret), ROSTER.c.forgotten.is_(False))


def enrol(
    connection: Connection, secret: bytes, credential: bytes, agreed: RosterAgreement
) -> Member | Refused:
    """Enrol the holder of a token's secret, whose device has drawn the credential with this hash.

    The same again is answered alike, so that a lost answer can be asked for. Somebody who was enrolled and is invited again keeps pseudonym, terms,
    reports and the day of enrolment: only the credential is replaced.
    """
    row = connection.execute(_invited(secret).with_for_update()).one_or_none()
    if row is None or (row.redeemed and row.credential != credential):
        return Refused.USED
    if is_taken(connection, credential, row.node):
        return Refused.TAKEN
    told: dict[str, Any] = {"credential": credential, "redeemed": True, "derived": False}
    if row.credential is None:
        told |= _terms(agreed) | {"since": int(time.time()) // SECONDS_A_DAY}
    elif any(getattr(row, name) != value for name, value in _terms(agreed).items()):
        return Refused.TERMS
    if not row.redeemed:
        connection.execute(update(ROSTER).where(ROSTER.c.node == row.node).values(**told))
    return Member(row.node, bytes(row.pseudonym))


def _terms(agreed: RosterAgreement) -> dict[str, Any]:
    """What somebody agrees to, as the roster has it."""
    return {
        "epsilon": agreed.epsilon,
        "delta": agreed.delta,
        "excluded": json.dumps(list(agreed.excluded)),
        "volunteer": agreed.volunteer,
        "by_level": None if agreed.by_level is None else json.dumps(list(agreed.by_level)),
        "renewal": agreed.renewal,
    }


def is_taken(connection: Connection, credential: bytes, node: int) -> bool:
    """Return whether somebody other than this user has the credential with this hash."""
    others = select(ROSTER.c.node).where(ROSTER.c.credential == credential, ROSTER.c.node != node)
    return connection.execute(others).first() is not None


def find_members(connection: Connection, credentials: Sequence[bytes]) -> dict[bytes, Member]:
    """Return the members who hold the credentials with these hashes."""
    # Words, and no expression: every request comes by here.
    place = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    rows = connection.exec_driver_sql(
        f"SELECT credential, node, pseudonym FROM roster WHERE credential IN ({', '.join([place] * len(credentials))})",
        tuple(credentials),
    ).all()
    return {bytes(credential): Member(node, bytes(pseudonym)) for credential, node, pseudonym in rows}


def _levels(told: str | None) -> tuple[float, ...] | None:
    return None if told is None else tuple(json.loads(told))


class CapQuestion(Protocol):
    """What was asked before: a published round."""

    @property
    def plan(self) -> Plan: ...

    @property
    def asked(self) -> NDArray[np.int64]: ...

    @property
    def expires(self) -> int: ...


def can_afford(plan: Plan, roster: Roster, before: Sequence[CapQuestion], now: int) -> Truths:
    """For everybody on the roster, whether the cap leaves room for the plan, in a user of whichever level.

    Everybody who was asked before counts as having spent it, whether an answer came or not.
    """
    charged = [(each.plan, _charged(each, roster, now)) for each in before]
    everybody = np.ones(len(roster), dtype=bool)
    fits = _within(roster.delta, [(who, each.claim.delta) for each, who in [*charged, (plan, everybody)]])
    for by_level in set(roster.by_level):
        own = np.array([each == by_level for each in roster.by_level], dtype=bool)
        for level, more in enumerate(by_level or (0.0,)):
            costs = [(who, _cost(each, level, by_level)) for each, who in [*charged, (plan, everybody)]]
            fits &= ~own | _within(roster.epsilon + more, costs)
    return fits


def _charged(asked: CapQuestion, roster: Roster, now: int) -> Truths:
    """Users whose books hold this round; of a cap that is renewed, only what may have been answered since counts.

    Of the enrolment only the day is known, so a period may begin up to a day earlier or later: the earlier one is taken.
    """
    length = np.maximum(roster.renewal, 1) * SECONDS_A_DAY
    enrolled = roster.since * SECONDS_A_DAY
    begun = enrolled + np.maximum(now - enrolled - SECONDS_A_DAY, 0) // length * length
    counts = (roster.renewal == 0) | (asked.expires >= begun)
    return np.asarray(np.isin(roster.node, asked.asked) & counts)


def _cost(plan: Plan, level: int, by_level: tuple[float, ...] | None) -> float:
    """What a plan costs a user of this level; a plan for other levels than were agreed to costs more than anybody has."""
    budgets = level_budgets(plan.build())
    if by_level is None or budgets is None or len(by_level) == 1:
        return plan.claim.epsilon
    return float(budgets[level]) if len(budgets) == len(by_level) else np.inf


def _within(cap: NDArray[np.float64], costs: Sequence[tuple[Truths, float]]) -> Truths:
    """Whose cap is not passed; sums are rounded up, as a device's ledger does."""
    booked = np.zeros(len(cap))
    for who, cost in costs:
        if cost > 0:
            booked[who] = np.nextafter(booked[who] + cost, np.inf)
    return np.asarray(booked <= cap * (1 + DUST))


def derived_holder(key: keys.SigningKey, credential: str) -> int | None:
    """Return the node of a credential that this key has made; None for any other."""
    if DERIVED_FORM.fullmatch(credential) is None:
        return None
    data = base64.urlsafe_b64decode(credential + "=" * (-len(credential) % 4))
    whose, tag = data[:WHOSE_BYTES], data[WHOSE_BYTES:]
    if not hmac.compare_digest(tag, hmac.digest(key.derived(INFO), whose, "sha256")):
        return None
    return int.from_bytes(whose[:NODE_BYTES], "big")


def register_credential(connection: Connection, node: int, credential: str, own: bytes) -> bool:
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
