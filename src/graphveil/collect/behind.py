"""What stands behind the routes: one collection, one writer, and who may send what to it."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from threading import Lock

from sqlalchemy import Connection, select, text
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

from graphveil.collect import roster
from graphveil.collect.arrivals import Arrival, Outcome
from graphveil.collect.asking import AskedRound
from graphveil.collect.bodies import Headers, bearer, read_body
from graphveil.collect.metrics import Metrics
from graphveil.collect.pace import Pace
from graphveil.collect.problems import ProblemError
from graphveil.collect.roster import Member
from graphveil.collect.schema import REPORTS, ROSTER, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.collect.writer import Writer
from graphveil.errors import InputError, MessageError, StoreError
from graphveil.privacy.envelope import Envelope, SignedQuestion

# Rounds that are kept in memory; what was published never changes.
ROUNDS_KEPT = 64
# How often reports whose time is over are looked for, in seconds.
SWEEP = 3600.0


class Service:
    """What stands behind the routes: one collection, one writer."""

    def __init__(self, collection: Collection, pace: Pace | None = None) -> None:
        self.collection, self.pace, self.metrics = collection, pace or Pace(), Metrics()
        self.writer = Writer(collection.database, self.metrics.committed)
        self._rounds: dict[int, AskedRound] = {}
        self._loading = Lock()

    async def member(self, headers: Headers) -> Member:
        """Who sends this, by the credential; refused where nobody does, or where they send too much."""
        told = bearer(headers)
        if told is None:
            raise ProblemError(
                401,
                "send the credential of the enrolment as Authorization: Bearer …",
                {"WWW-Authenticate": "Bearer"},
            )
        held = self.collection.key.holder(told)
        # The roster knows credentials of earlier keys too.
        found = (
            Member(*held, volunteer=False) if held is not None else await run_in_threadpool(self._find, told)
        )
        if found is None:
            raise unknown_credential()
        wait = self.pace.wait(found.node)
        if wait:
            raise ProblemError(
                429,
                "this device sends too much: wait, then send the same again",
                {"Retry-After": str(math.ceil(wait))},
            )
        return found

    async def enrolled(self, headers: Headers) -> Member:
        """Who sends this, if the roster still has them: whoever was forgotten holds a credential that the key has made."""
        found = await self.member(headers)
        await run_in_threadpool(self._check_enrolled, found.node)
        return found

    async def take(self, round: int, report: str, headers: Headers, receive: Receive) -> int:
        """Store an answer; the status that says so, once it is durable."""
        member = await self.member(headers)
        asked = self._rounds.get(round)
        if asked is None:
            asked = await run_in_threadpool(self._load, round)
        body = await read_body(headers, receive, asked.limit)
        name = bytes.fromhex(report)
        message = asked.accepted(body, name, member.node, member.pseudonym)
        if message is None:
            try:
                envelope = Envelope.from_bytes(body, asked.limit)
                check_sender(envelope, report, member, asked)
                asked.check(envelope, member.node)
            except MessageError as error:
                raise ProblemError(422, str(error)) from None
            message = envelope.message
        return acknowledged(await self.writer.store(Arrival(round, member.node, name, message)))

    def _find(self, credential: str) -> Member | None:
        with self.collection.database.reading() as connection:
            return roster.find_member(connection, credential)

    def _check_enrolled(self, node: int) -> None:
        with self.collection.database.reading() as connection:
            check_enrolled(connection, node)

    def invited(self, secret: bytes) -> bool:
        """Whether somebody was given this secret."""
        with self.collection.database.reading() as connection:
            return roster.find_invited(connection, secret) is not None

    def _load(self, number: int) -> AskedRound:
        """A round from the database, read once, however many ask for it."""
        with self._loading:
            if number not in self._rounds:
                try:
                    found = AskedRound(self.collection.round(number))
                except InputError:
                    raise ProblemError(
                        404, f"there is no round {number}: GET /v1/questions says what is asked"
                    ) from None
                while len(self._rounds) >= ROUNDS_KEPT:
                    self._rounds.pop(next(iter(self._rounds)))
                self._rounds[number] = found
            return self._rounds[number]

    def questions(self, node: int) -> list[dict[str, str]]:
        """What a user is asked and has not answered, signed."""
        with self.collection.database.reading() as connection:
            check_enrolled(connection, node)
            opened = connection.execute(
                select(ROUNDS.c.number)
                .where(ROUNDS.c.closed.is_(False), ROUNDS.c.expires > int(time.time()))
                .order_by(ROUNDS.c.number)
            ).scalars()
            numbers = list(opened)
            answered = set(
                connection.execute(select(REPORTS.c.round).where(REPORTS.c.node == node)).scalars()
            )
        settings, key = self.collection.settings, self.collection.key
        signed = []
        for number in numbers:
            asked = self._rounds.get(number) or self._load(number)
            if number in answered or not asked.asks(node):
                continue
            unsigned = SignedQuestion(
                asked.question(node, settings.id, settings.purpose).payload(), bytes(64)
            )
            signed.append(SignedQuestion(unsigned.payload, key.sign(unsigned.signed)).as_dict())
        return signed

    async def ready(self) -> None:
        """Refuse where nothing could be stored now."""
        await self.writer.run(lambda connection: connection.execute(text("SELECT 1")).all())

    async def sweep(self) -> None:
        """Delete what is older than the collection keeps it, and what is left in logs of what was deleted, again and again."""
        while True:
            # A database that cannot be used now is tried again, as everything is.
            with suppress(StoreError):
                await run_in_threadpool(self.collection.delete_expired)
                await run_in_threadpool(self.collection.database.wipe)
            await asyncio.sleep(SWEEP)


def check_enrolled(connection: Connection, node: int) -> None:
    """Refuse a user who was forgotten."""
    known = select(ROSTER.c.node).where(ROSTER.c.node == node, ROSTER.c.credential.is_not(None))
    if connection.execute(known).first() is None:
        raise unknown_credential()


def check_sender(envelope: Envelope, report: str, member: Member, asked: AskedRound) -> None:
    """Refuse an envelope that is somebody else's, has another id than its address, or answers what was not asked."""
    if envelope.report != report:
        raise MessageError("the envelope has another report id than the address: send it to its own")
    if envelope.pseudonym != member.pseudonym.hex():
        raise MessageError("the envelope has another pseudonym than this device was given: send your own")
    if not asked.asks(member.node):
        raise MessageError("this round does not ask this device: GET /v1/questions says what does")


def acknowledged(outcome: Outcome) -> int:
    """The status that a device is told, after it is durable."""
    if outcome is Outcome.STORED:
        return 201
    if outcome is Outcome.AGAIN:
        return 200
    if outcome is Outcome.OTHER:
        raise ProblemError(409, "something else was sent before, and counts: send the same again, or nothing")
    if outcome is Outcome.CLOSED:
        raise ProblemError(410, "this round is closed and takes no more reports: nothing needs to be done")
    raise unknown_credential()


def unknown_credential() -> ProblemError:
    return ProblemError(
        401,
        "this credential is not known: enrol with a token, or use that of the enrolment",
        {"WWW-Authenticate": "Bearer"},
    )
