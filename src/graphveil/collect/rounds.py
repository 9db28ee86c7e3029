"""Rounds: plans that were published, the audit that some need before, whom they ask, whether a message answers them, and whether they are closed."""

from __future__ import annotations

import hashlib
import inspect
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select

from graphveil.audit import Audit
from graphveil.channels.channel import canonical
from graphveil.collect.learning import asked_of, refuse_unanswerable
from graphveil.collect.report_bytes import ReportAcceptance
from graphveil.collect.roster import NODE, Member, Roster, can_afford, note
from graphveil.collect.schema import ACTIONS, REPORTS, ROUNDS
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import Mechanism, Reports, entry
from graphveil.mechanisms.registry import is_own, is_own_builder
from graphveil.mechanisms.reports import message_limit
from graphveil.plugins import is_reference
from graphveil.privacy import Plan
from graphveil.privacy.envelope import (
    CHECKSUM,
    HEADER,
    MAX_PURPOSE,
    MAX_SECONDS,
    Envelope,
    Question,
    envelope_size,
    sealed,
)
from graphveil.privacy.plan import described, plan_digest
from graphveil.privacy.reach import attributes_in_reach

# A round is read from so many answers on, or from all where fewer are asked: an operator's rule, no privacy claim.
LEAST_ANSWERS = 100
# Bytes of a question besides its plan: a purpose, of which a character takes up to 12 bytes, ids, times and names.
MAX_WORDS = 12 * MAX_PURPOSE + 1024
# How the list of actions calls an audit that held.
AUDIT = "audit"
# Where plans that wait for an audit are written, in a collection's folder.
PLANS = "plans"


class AskedRound:
    """A published round. All of it is frozen but whether it is closed, which is not known here."""

    def __init__(self, opened: PublishedRound) -> None:
        self._round, self._mechanism = opened, opened.plan.build()
        self.number, self.expires = opened.number, opened.expires
        self._places = np.full(opened.users, -1, dtype=np.int64)
        whole = opened.whole
        self._places[whole] = np.arange(len(whole))
        asked = np.zeros(opened.users, dtype=np.uint8)
        asked[opened.asked] = 1
        # Bytes are looked up faster than arrays.
        self._asked = asked.tobytes()
        self._one = opened.plan.part([int(opened.asked[0])])

    @cached_property
    def _acceptance(self) -> ReportAcceptance:
        return ReportAcceptance(self._mechanism)

    @cached_property
    def limit(self) -> int:
        """The most bytes of an envelope."""
        return envelope_size(message_limit(self._mechanism))

    def asks(self, node: int) -> bool:
        """Return whether the round asks this user."""
        return node < len(self._asked) and self._asked[node] == 1

    def part(self, node: int) -> Plan:
        """Return one user's part of the plan, as `plan.part` does, without a search through all users."""
        own = {
            name: table.rows([int(self._places[node])])
            for name in ("lists", "offsets")
            if (table := getattr(self._round.plan, name)) is not None
        }
        return self._one.model_copy(update={"users": (node,), **own})

    def question(self, node: int, collection: str, purpose: str) -> Question:
        """Return the question to one user.

        Parameters
        ----------
        node
            The user.
        collection
            The collection's id.
        purpose
            The purpose that the user is told.
        """
        opened = self._round
        return Question(
            collection, opened.number, node, self.part(node), opened.published, opened.expires, purpose
        )

    def read(self, body: bytes, report: str, member: Member) -> bytes:
        """Return the message in an envelope; a MessageError says why this member cannot have sent it.

        A sound envelope is the one that would be made around its message: nothing of it is parsed.

        Parameters
        ----------
        body
            The bytes of the envelope.
        report
            The id of the report, in hexadecimal digits.
        member
            The member who has sent it.
        """
        node, message = member.node, body[HEADER.size : -CHECKSUM.size]
        if not self.asks(node) or body != sealed(
            bytes.fromhex(report), member.pseudonym, bytes.fromhex(self.digest(node)), message
        ):
            raise self._refusal(body, report, member)
        if self._acceptance.accepts(message):
            return message
        reports = Reports.from_bytes(message, self._mechanism_of(node))
        if reports.users != 1:
            raise MessageError(f"a device sends its own report alone, got those of {reports.users} users")
        self._mechanism.check_owners(reports, np.array([node]))
        return message

    def _refusal(self, body: bytes, report: str, member: Member) -> MessageError:
        """Return what is wrong with an envelope."""
        envelope = Envelope.from_bytes(body, self.limit)
        if envelope.report != report:
            said = "the envelope has another report id than the address: send it to its own"
        elif envelope.pseudonym != member.pseudonym.hex():
            said = "the envelope has another pseudonym than this device was given: send your own"
        elif not self.asks(member.node):
            said = "this round does not ask this device: GET /v1/questions says what does"
        else:
            said = "the envelope answers another plan than this round asks: get the question anew, and answer that"
        return MessageError(said)

    def digest(self, node: int) -> str:
        """The digest of the user's part."""
        if self._round.plan.lists is not None:
            return plan_digest(self.part(node))
        return self._digest(node).hex()

    def _digest(self, node: int) -> bytes:
        """The digest of a part that differs from others by its user alone."""
        begun, (before, after) = self._begun.copy(), self._one_user
        begun.update(before + hashlib.sha256(node.to_bytes(8, "little")).hexdigest().encode() + after)
        return begun.digest()

    @cached_property
    def _one_user(self) -> tuple[bytes, bytes]:
        """The canonical bytes of a list of one user and of the end of a part, around the digest of the user's number."""
        whole = canonical(np.zeros(1, dtype=np.int64)) + b"}"
        before, after = whole.split(hashlib.sha256(bytes(8)).hexdigest().encode())
        return before, after

    @cached_property
    def _begun(self) -> hashlib._Hash:
        """The hash of a part's canonical bytes up to its users, which come last: only these differ between parts."""
        rest = {name: value for name, value in described(self._one).items() if name != "users"}
        return hashlib.sha256(canonical(rest)[:-1] + b',"users":')

    def _mechanism_of(self, node: int) -> Mechanism:
        """The mechanism of the user's part; where a class is asked it has the user's own list."""
        return self._mechanism.of_users([int(self._places[node])])


@dataclass(frozen=True, eq=False)
class PublishedRound:
    """A published plan. ``asked`` are node numbers, in the plan's order, of those who would not refuse it.

    ``users`` is how many nodes the graph had when it was published: what 'all' means in its plan. ``deleted`` counts reports
    that were deleted because their time was over.
    """

    number: int
    plan: Plan
    digest: str
    asked: NDArray[np.int64]
    users: int
    graph: int
    published: int
    expires: int
    closed: bool
    answered: int
    deleted: int = 0
    # What it was published for.
    study: str = ""

    @property
    def least(self) -> int:
        """From how many answers on it can be closed and read."""
        return min(LEAST_ANSWERS, len(self.asked))

    def status(self) -> dict[str, Any]:
        """Return the round's status for operators."""
        return {
            "round": self.number,
            "study": self.study,
            "mechanism": self.plan.mechanism,
            "epsilon": self.plan.claim.epsilon,
            "digest": self.digest,
            "asked": len(self.asked),
            "answered": self.answered,
            "least": self.least,
            "closed": self.closed,
            "expires": self.expires,
        }

    @property
    def whole(self) -> NDArray[np.int64]:
        """The node numbers of the whole plan, in its order: who was not asked is among them."""
        return asked_of(self.plan, self.users)


def read_rounds(
    connection: Connection, users: dict[int, int], number: int | None = None
) -> list[PublishedRound]:
    """Return all rounds, or one of them.

    Parameters
    ----------
    connection
        A transaction.
    users
        The number of users in each version of the graph, by version.
    number
        The round to read; None reads all.
    """
    count = (
        select(func.count())
        .select_from(REPORTS)
        .where(REPORTS.c.round == ROUNDS.c.number)
        .scalar_subquery()
        .label("answered")
    )
    chosen = select(ROUNDS, count).order_by(ROUNDS.c.number)
    if number is not None:
        chosen = chosen.where(ROUNDS.c.number == number)
    return [
        PublishedRound(
            number=row.number,
            plan=Plan.from_json(bytes(row.plan)),
            digest=row.digest,
            asked=np.frombuffer(bytes(row.asked), NODE).astype(np.int64),
            users=users[row.graph],
            graph=row.graph,
            published=row.published,
            expires=row.expires,
            closed=bool(row.closed),
            answered=int(row.answered),
            deleted=row.deleted,
            study=row.study,
        )
        for row in connection.execute(chosen)
    ]


def publish(
    connection: Connection,
    plan: Plan,
    expires: int,
    roster: Roster,
    before: list[PublishedRound],
    place: tuple[int, int],
    limit: int,
    study: str,
) -> PublishedRound:
    """Freeze a plan as the next round.

    Parameters
    ----------
    connection
        A writing transaction.
    plan
        A checked plan.
    expires
        When devices stop answering it, in seconds since 1970.
    roster
        Everybody who was invited.
    before
        All rounds that were published before.
    place
        The version of the graph, and how many users it has.
    limit
        How many bytes of a question a device reads.
    study
        What it is published for.
    """
    now, (graph, users) = int(time.time()), place
    if not now < expires <= MAX_SECONDS:
        raise InputError(f"a round must expire in the future, by the year 9999, got {expires} (now: {now})")
    refuse_unanswerable(plan)
    if plan.users != "all" and max(plan.users, default=0) >= users:
        raise InputError(f"the graph has the users 0..{users - 1}, the plan asks user {max(plan.users)}")
    written, digest = plan.to_json().encode(), plan_digest(plan)
    # What cannot be read back would be in the way of everything else for good.
    if plan_digest(Plan.from_json(written)) != digest:
        raise InputError("the plan changes when it is written and read: say its options in plain numbers")
    asked = who_is_asked(plan, roster, before, users, now)
    if not asked.size:
        raise InputError(
            "nobody would answer this plan: whom it asks is not enrolled, has spent the cap, or excludes it"
        )
    part = len(plan.part([int(asked[0])]).to_json())
    if part > limit - MAX_WORDS:
        raise InputError(
            f"no device answers this plan: one user's part has {part} bytes, and in this collection at most {limit - MAX_WORDS} are read; "
            f"take a model with fewer hidden units or smaller weights"
        )
    number = 1 + max((each.number for each in before), default=0)
    fresh = PublishedRound(number, plan, digest, asked, users, graph, now, expires, False, 0, study=study)
    connection.execute(
        insert(ROUNDS).values(
            number=number,
            plan=written,
            digest=digest,
            study=study,
            asked=asked.astype(NODE).tobytes(),
            graph=graph,
            published=now,
            expires=expires,
            closed=False,
            deleted=0,
        )
    )
    return fresh


def who_is_asked(
    plan: Plan, roster: Roster, before: list[PublishedRound], users: int, now: int
) -> NDArray[np.int64]:
    """Return the nodes of a plan who are enrolled and would not refuse it, in its order.

    This follows from what they agreed to, and from no private value.

    Parameters
    ----------
    plan
        The plan to publish.
    roster
        Everybody who was invited.
    before
        All rounds that were published before.
    users
        The number of users in the graph.
    now
        The time, in seconds since 1970.
    """
    fits = np.zeros(users, dtype=bool)
    fits[roster.node] = roster.enrolled & can_afford(plan, roster, before, now)
    whole = asked_of(plan, users)
    asked = set(whole.tolist())
    for node, excluded in zip(roster.node.tolist(), roster.excluded, strict=True):
        if excluded and fits[node] and node in asked:
            # Whether the user's own part may depend on an excluded attribute.
            reached = attributes_in_reach(plan.part([node]), plan.dims or 1 + max(excluded))
            fits[node] = plan.of != "norm" and not any(
                reached[each] for each in excluded if each < len(reached)
            )
    chosen: NDArray[np.int64] = whole[fits[whole]]
    return chosen


def keep_audit(connection: Connection, plan: Plan, audited: Audit) -> None:
    """Record that the audit of a plan held; an audit that did not is refused."""
    if not audited.holds:
        raise InputError(f"the audit of {plan.mechanism} did not hold: mend it, or give the audit more time")
    note(connection, AUDIT, _record(plan))


def check_audited(connection: Connection, plan: Plan, folder: Path) -> None:
    """Refuse a plan whose mechanism is not the package's and was not audited; write it down to be.

    A mechanism of the package has tables and a test of its own. What another mechanism sends is its author's word, so its plan is
    published where `graphveil audit NAME --plan PLAN --collection DIR` held, for the same plan and the same code.
    """
    if is_own_builder(entry(plan.mechanism).build) and is_own(plan.build()):
        return
    if is_reference(plan.mechanism):
        raise InputError(
            f"{plan.mechanism} is a path on this machine, which names nothing on a device: register the mechanism under a name "
            "(`graphveil.register`), in a package that devices have too"
        )
    kept = select(ACTIONS.c.number).where(ACTIONS.c.action == AUDIT, ACTIONS.c.detail == _record(plan))
    if connection.execute(kept).first() is not None:
        return
    file = folder / PLANS / f"{plan_digest(plan)[:16]}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(plan.to_json(), encoding="utf-8")
    raise InputError(
        f"{plan.mechanism} does not come with graphveil, and this plan was not audited with the code that is here: run "
        f"`graphveil audit FILE.py:{plan.mechanism} --plan {file} --collection {folder}`, then publish again"
    )


def _record(plan: Plan) -> str:
    return f"plan {plan_digest(plan)} by code {code_digest(plan)}: held"


def code_digest(plan: Plan) -> str:
    """Return the SHA-256 of the code of a plan's mechanism.

    It covers the files of the function that builds the mechanism and of its classes.
    """
    built = plan.build()
    written = [inspect.unwrap(entry(plan.mechanism).build), *type(built).__mro__]
    digests = set()
    for each in written:
        # Classes of Python itself are in no file.
        if getattr(each, "__module__", "builtins") in ("builtins", "abc"):
            continue
        try:
            digests.add(hashlib.sha256(Path(inspect.getfile(each)).read_bytes()).hexdigest())
        except (OSError, TypeError):
            raise InputError(
                f"the code of {plan.mechanism} must be in a file, for an audit to vouch for it"
            ) from None
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
