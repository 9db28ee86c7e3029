"""The people of a collection: who was invited, has enrolled, agreed to what, can afford a plan, or was forgotten; and its operators."""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, delete, func, insert, select, update

from graphveil.collect.database import lock_exclusively, note_deletion
from graphveil.collect.keys import PSEUDONYM_BYTES, SigningKey, hashed, new_pseudonym, new_secret, word
from graphveil.collect.schema import (
    ACTIONS,
    OPERATORS,
    REPORTS,
    RESULTS,
    ROSTER,
    ROUNDS,
    ROWS,
    SECONDS_A_DAY,
)
from graphveil.errors import InputError
from graphveil.privacy import Plan
from graphveil.privacy.ledger import DUST

if TYPE_CHECKING:
    from graphveil.collect.rounds import PublishedRound

CHUNK = 10_000
# What somebody agreed to, and is of no use after.
AGREED = ("credential", "epsilon", "delta", "by_level", "renewal", "since", "excluded", "volunteer")
# How the list of actions calls a deletion of what is too old.
EXPIRED = "expire"
# Whom a round asks, as the database has it.
NODE = np.dtype("<i4")
OPERATOR_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
OPERATOR_TOKEN_BYTES = 32

# Credentials that collectors of earlier versions derived from their key are checked for one purpose: to register a device's own.
# The holder of a collection's key can make such a credential for anybody. So it is taken only from the device of a user who has not
# registered yet, only once, and only while the key that made it is the collection's: `graphveil collect rotate` ends it.
INFO = b"graphveil-credential-1"
# A node, a pseudonym and a tag of 32 bytes, in base64url.
NODE_BYTES, DERIVED_FORM = 4, re.compile(r"[A-Za-z0-9_-]{70}")
WHOSE_BYTES = NODE_BYTES + PSEUDONYM_BYTES

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
    """The terms a user agrees to at enrolment.

    They are a cap, more of it for each privacy level, and the days after which it is renewed.

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
    """The reasons why the holder of a known token is not enrolled."""

    USED = (
        "this token was used by another device, which is enrolled now: ask for a new one if that was not you"
    )
    TAKEN = "this device is enrolled for somebody else: use another device, or another file of books, for each person"
    TERMS = (
        "you agreed to other terms when you first enrolled, and they hold for good: enrol with the same ones"
    )


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
    enrolled = np.array([row.credential is not None for row in rows], dtype=bool)

    def column(name: str, kind: type) -> NDArray[Any]:
        return np.array([getattr(row, name) or 0 for row in rows], dtype=kind)

    def lists(name: str, absent: Any) -> tuple[Any, ...]:
        written = [getattr(row, name) for row in rows]
        return tuple(tuple(json.loads(each)) if each else absent for each in written)

    return Roster(
        node=column("node", np.int64),
        external=tuple(row.external for row in rows),
        pseudonym=tuple(bytes(row.pseudonym) for row in rows),
        epsilon=column("epsilon", np.float64),
        delta=column("delta", np.float64),
        excluded=lists("excluded", ()),
        by_level=lists("by_level", None),
        renewal=column("renewal", np.int64),
        since=column("since", np.int64),
        volunteer=column("volunteer", np.bool_),
        enrolled=enrolled,
        derived=enrolled & column("derived", np.bool_),
        forgotten=column("forgotten", np.bool_),
    )


def invite(connection: Connection, ids: Sequence[str]) -> list[Invited]:
    """Put everybody on the roster who is not on it yet; ids stand in the order of nodes."""
    there = set(connection.execute(select(ROSTER.c.node)).scalars())
    invited = [
        Invited(node, str(name), new_pseudonym(), new_secret())
        for node, name in enumerate(ids)
        if node not in there
    ]
    fresh = {"redeemed": False, "derived": False, "forgotten": False}
    for start in range(0, len(invited), CHUNK):
        rows = [
            {
                "node": each.node,
                "external": each.external,
                "pseudonym": each.pseudonym,
                "token": hashed(each.secret),
                **fresh,
            }
            for each in invited[start : start + CHUNK]
        ]
        connection.execute(insert(ROSTER), rows)
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
        secret = new_secret()
        connection.execute(
            update(ROSTER).where(ROSTER.c.node == row.node).values(token=hashed(secret), redeemed=False)
        )
        renewed.append(Invited(row.node, row.external, bytes(row.pseudonym), secret))
    return renewed


def is_invited(connection: Connection, secret: bytes) -> bool:
    """Return whether a token's secret belongs to somebody who was not forgotten."""
    return connection.execute(_invited(secret)).first() is not None


def _invited(secret: bytes) -> Select[Any]:
    return select(ROSTER).where(ROSTER.c.token == hashed(secret), ROSTER.c.forgotten.is_(False))


def enrol(
    connection: Connection, secret: bytes, credential: bytes, agreed: RosterAgreement
) -> Member | Refused:
    """Enrol the holder of a token's secret; return the member, or why enrolment was refused.

    The same request again gets the same answer, so that a lost answer can be asked for. Somebody who was
    enrolled and is invited again keeps pseudonym, terms, reports and the day of enrolment: only the
    credential is replaced.

    Parameters
    ----------
    connection
        A writing transaction.
    secret
        The secret of the token.
    credential
        The hash of the credential that the device has drawn.
    agreed
        The terms that the user agrees to.
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
    """Return an agreement as columns of the roster."""
    return {
        "epsilon": agreed.epsilon,
        "delta": agreed.delta,
        "excluded": json.dumps(list(agreed.excluded)),
        "volunteer": agreed.volunteer,
        "by_level": None if agreed.by_level is None else json.dumps(list(agreed.by_level)),
        "renewal": agreed.renewal,
    }


def is_taken(connection: Connection, credential: bytes, node: int) -> bool:
    """Return whether somebody other than this user has the credential with this hash.

    Parameters
    ----------
    connection
        A transaction.
    credential
        The hash of the credential.
    node
        The user.
    """
    others = select(ROSTER.c.node).where(ROSTER.c.credential == credential, ROSTER.c.node != node)
    return connection.execute(others).first() is not None


def find_members(connection: Connection, credentials: Sequence[bytes]) -> dict[bytes, Member]:
    """Return the members who hold the credentials with these hashes."""
    # RandomBits, and no expression: every request comes by here.
    place = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    rows = connection.exec_driver_sql(
        f"SELECT credential, node, pseudonym FROM roster WHERE credential IN ({', '.join([place] * len(credentials))})",
        tuple(credentials),
    ).all()
    return {bytes(credential): Member(node, bytes(pseudonym)) for credential, node, pseudonym in rows}


def can_afford(plan: Plan, roster: Roster, before: Sequence[PublishedRound], now: int) -> Truths:
    """Return whether each user's cap leaves room for the plan, at any level, (roster,) bool.

    Everybody who was asked before counts as having spent it, whether an answer came or not.

    Parameters
    ----------
    plan
        The plan to publish.
    roster
        Everybody who was invited.
    before
        All rounds that were published before.
    now
        The time, in seconds since 1970.
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


def _charged(asked: PublishedRound, roster: Roster, now: int) -> Truths:
    """Users whose books hold this round; of a cap that is renewed, only what may have been answered since counts.

    Of the enrolment only the day is known, so a period may begin up to a day earlier or later: the earlier one is taken.
    """
    length = np.maximum(roster.renewal, 1) * SECONDS_A_DAY
    enrolled = roster.since * SECONDS_A_DAY
    begun = enrolled + np.maximum(now - enrolled - SECONDS_A_DAY, 0) // length * length
    counts = (roster.renewal == 0) | (asked.expires >= begun)
    return np.asarray(np.isin(roster.node, asked.asked) & counts)


def _cost(plan: Plan, level: int, by_level: tuple[float, ...] | None) -> float:
    """Return the ε that a plan costs a user of this level.

    It is infinite for a plan with other levels than were agreed to.
    """
    budgets = plan.build().budgets
    if by_level is None or not budgets or len(by_level) == 1:
        return plan.claim.epsilon
    return float(budgets[level]) if len(budgets) == len(by_level) else np.inf


def _within(cap: NDArray[np.float64], costs: Sequence[tuple[Truths, float]]) -> Truths:
    """Whose cap is not passed; sums are rounded up, as a device's ledger does."""
    booked = np.zeros(len(cap))
    for who, cost in costs:
        if cost > 0:
            booked[who] = np.nextafter(booked[who] + cost, np.inf)
    return np.asarray(booked <= cap * (1 + DUST))


def derived_holder(key: SigningKey, credential: str) -> int | None:
    """Return the node of a credential that this key has made; None for any other."""
    if DERIVED_FORM.fullmatch(credential) is None:
        return None
    data = base64.urlsafe_b64decode(credential + "=" * (-len(credential) % 4))
    whose, tag = data[:WHOSE_BYTES], data[WHOSE_BYTES:]
    if not hmac.compare_digest(tag, hmac.digest(key.derived(INFO), whose, "sha256")):
        return None
    return int.from_bytes(whose[:NODE_BYTES], "big")


def register_credential(connection: Connection, node: int, credential: str, own: bytes) -> bool:
    """Replace a derived credential by the device's own, and return whether that one is valid now.

    The same request again gets the same answer, so that a lost answer can be asked for.

    Parameters
    ----------
    connection
        A writing transaction.
    node
        The user.
    credential
        The derived credential.
    own
        The hash of the device's own credential.
    """
    row = connection.execute(
        select(ROSTER.c.credential, ROSTER.c.derived).where(ROSTER.c.node == node).with_for_update()
    ).one_or_none()
    if row is None or row.credential is None:
        return False
    if not row.derived:
        return bytes(row.credential) == own
    if bytes(row.credential) != hashed(credential.encode("ascii")) or is_taken(connection, own, node):
        return False
    connection.execute(update(ROSTER).where(ROSTER.c.node == node).values(credential=own, derived=False))
    return True


def forget(connection: Connection, node: int) -> int:
    """Delete reports and row of a user, who takes part no more, and mark what was learned with them; how many reports went.

    The id stays on the roster with the mark, so that nobody invites the user by mistake.
    """
    lock_exclusively(connection)
    note_deletion(connection)
    rounds = set(connection.execute(select(REPORTS.c.round).where(REPORTS.c.node == node)).scalars())
    gone = _may_be_gone(connection, node)
    gave_row = connection.execute(delete(ROWS).where(ROWS.c.node == node)).rowcount > 0 or _row_may_be_gone(
        connection, node
    )
    connection.execute(delete(REPORTS).where(REPORTS.c.node == node))
    # Besides the id and the mark, random bytes remain where columns need some.
    drawn = {"pseudonym": new_pseudonym(), "token": hashed(new_secret())}
    left = dict.fromkeys(AGREED) | drawn | {"redeemed": False, "derived": False, "forgotten": True}
    connection.execute(update(ROSTER).where(ROSTER.c.node == node).values(left))
    for number, card in connection.execute(select(RESULTS.c.number, RESULTS.c.card)).all():
        if _learned_from(json.loads(card), rounds | gone, gave_row):
            connection.execute(update(RESULTS).where(RESULTS.c.number == number).values(outdated=True))
    return len(rounds)


def delete_expired(connection: Connection, days: int) -> int:
    """Delete reports and rows that are older than so many days; how many. Rounds remember that theirs are gone."""
    lock_exclusively(connection)
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
    """Return whether a result used one of these rounds, or the row.

    A result that does not say what it used is taken to have used everything.
    """
    used = card.get("rounds")
    known = isinstance(used, list) and all(isinstance(each, int) for each in used)
    return bool(rounds & set(used) if known else rounds) or (gave_row and card.get("panel") is not False)


def _may_be_gone(connection: Connection, node: int) -> set[int]:
    """Rounds that asked a user and whose reports were deleted in part, their time being over: the user's may have been among them."""
    found = connection.execute(select(ROUNDS.c.number, ROUNDS.c.asked).where(ROUNDS.c.deleted > 0))
    return {number for number, asked in found if node in np.frombuffer(bytes(asked), NODE)}


def _row_may_be_gone(connection: Connection, node: int) -> bool:
    """Return whether a user volunteered, and something was deleted because its time was over."""
    volunteered = select(ROSTER.c.volunteer).where(ROSTER.c.node == node)
    expired = select(ACTIONS.c.number).where(ACTIONS.c.action == EXPIRED).limit(1)
    return bool(connection.execute(volunteered).scalar()) and connection.execute(expired).first() is not None


def note(connection: Connection, action: str, detail: str) -> None:
    """Record an action of an operator.

    Parameters
    ----------
    connection
        A writing transaction.
    action
        The name of the action.
    detail
        Its extent, in counts and without any name.
    """
    connection.execute(insert(ACTIONS).values(at=int(time.time()), action=action, detail=detail))


def add_operator(connection: Connection, name: str) -> str:
    """Return a new token for an operator over HTTP; it is shown once."""
    if OPERATOR_FORM.fullmatch(name) is None:
        raise InputError(
            f"an operator's name has up to 64 letters, digits, dots, dashes or underscores, got {name!r}: choose such a name"
        )
    if name in read_operators(connection):
        raise InputError(f"there is an operator {name!r} already: revoke that token first, with --revoke")
    token = word(secrets.token_bytes(OPERATOR_TOKEN_BYTES))
    note(connection, "operator", "1 token made")
    connection.execute(
        insert(OPERATORS).values(name=name, token=hashed(token.encode()), added=int(time.time()))
    )
    return token


def revoke_operator(connection: Connection, name: str) -> None:
    """Revoke the token of an operator."""
    if not connection.execute(delete(OPERATORS).where(OPERATORS.c.name == name)).rowcount:
        known = ", ".join(read_operators(connection)) or "there is none"
        raise InputError(f"there is no operator {name!r}: operators are those who have a token ({known})")
    note(connection, "operator", "1 token taken back")


def read_operators(connection: Connection) -> list[str]:
    """Return the names of all operators who have a token."""
    return list(connection.execute(select(OPERATORS.c.name).order_by(OPERATORS.c.name)).scalars())


def find_operator(connection: Connection, token: str) -> str | None:
    """Return the operator whose token this is."""
    found = connection.execute(select(OPERATORS.c.name).where(OPERATORS.c.token == hashed(token.encode())))
    return found.scalar_one_or_none()
