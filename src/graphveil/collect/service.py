"""The service behind the routes: one collection, one writer, who may send what to it, and how fast."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from sqlalchemy import distinct, func, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from graphveil.collect import roster
from graphveil.collect.database import Database, ReplacedError
from graphveil.collect.metrics import Metrics
from graphveil.collect.problems import ProblemError, problem_response
from graphveil.collect.requests import Headers, bearer, read_address, read_body
from graphveil.collect.roster import Member, find_members
from graphveil.collect.rounds import AskedRound
from graphveil.collect.schema import REPORTS, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.collect.writer import Arrival, ArrivalOutcome, Batches, Writer, try_storing
from graphveil.errors import InputError, MessageError, StoreError
from graphveil.privacy.credential import FORM, credential_hash
from graphveil.privacy.envelope import (
    AROUND,
    MAX_QUESTIONS,
    SignedQuestion,
    question_numbers,
    questions_limit,
)

# A device sends a few requests a day; this is for one that runs wild.
A_SECOND, AT_ONCE = 10.0, 100
# So many senders are remembered; any other has a full bucket.
REMEMBERED = 100_000
# Rounds that are kept in memory; what was published never changes.
ROUNDS_KEPT = 64
LOGGER = logging.getLogger("graphveil.collect")
# How often reports whose time is over are looked for, in seconds.
SWEEP = 3600.0
# How soon what was deleted is overwritten: those who go at one time share the work. Where others are in the way, it is tried again.
SOON, AGAIN = 5.0, 60.0
# After that writers are left alone for so many times as long as it took.
REST = 20
# Whether anything can be stored is tried at most once in so many seconds.
PROBE = 2.0
# A database that cannot be used is logged once in so many seconds.
QUIET = 60.0
OWN_CREDENTIAL = "send the credential of this device as Authorization: Bearer …"
DERIVED = "this credential was made by an earlier graphveil and only serves to register another one: update graphveil on the device"
UNKNOWN = "this credential is not known: enrol with a token, or ask for a new invitation if you are enrolled already"
ACKNOWLEDGED = {ArrivalOutcome.STORED: 201, ArrivalOutcome.AGAIN: 200}
REFUSED = {
    ArrivalOutcome.OTHER: (
        409,
        "something else was sent before, and counts: send the same again, or nothing",
    ),
    ArrivalOutcome.CLOSED: (410, "this round is closed and takes no more reports: nothing needs to be done"),
}


class Service:
    """The service behind the routes: one collection, one writer."""

    def __init__(self, collection: Collection, rate_limit: RateLimit | None = None) -> None:
        self.collection, self.metrics = collection, Metrics()
        self._rate_limit = rate_limit or RateLimit()
        self.writer = Writer(collection.database, self.metrics.committed)
        self._members = Members(collection.database)
        self._rounds: dict[int, AskedRound] = {}
        self._loading = Lock()
        self._deleted = asyncio.Event()
        self._logged = -math.inf
        self._attempt: asyncio.Task[StoreError | None] | None = None
        self._attempted, self._ready = -math.inf, False

    def stop(self) -> None:
        """End its threads, after all that was given to them."""
        self.writer.stop()
        self._members.stop()

    async def member(self, headers: Headers) -> Member:
        """Return who sends this, by the credential; refuse strangers, and those who send too much."""
        told = bearer(headers, OWN_CREDENTIAL)
        found = await self._members.find(told)
        if found is None:
            raise unknown_credential(derived=roster.DERIVED_FORM.fullmatch(told) is not None)
        self._check_rate(found.node)
        return found

    def derived_holder(self, headers: Headers) -> tuple[int, str]:
        """Return who sends this by a credential that the collection's key has made, and that credential."""
        told = bearer(headers, OWN_CREDENTIAL)
        node = roster.derived_holder(self.collection.key, told)
        if node is None:
            raise unknown_credential()
        self._check_rate(node)
        return node, told

    def _check_rate(self, node: int) -> None:
        wait = self._rate_limit.wait(node)
        if wait:
            raise ProblemError(
                429,
                "this device sends too much: wait, then send the same again",
                {"Retry-After": str(math.ceil(wait))},
            )

    async def take(self, request: Request) -> int:
        """Store an answer, and return the HTTP status once it is durable."""
        headers = request.scope["headers"]
        round, report = read_address(**request.path_params)
        member = await self.member(headers)
        asked = self._rounds.get(round)
        if asked is None:
            asked = await run_in_threadpool(self._load, round)
        body = await read_body(headers, request.receive, asked.limit)
        try:
            message = asked.read(body, report, member)
        except MessageError as error:
            raise ProblemError(422, str(error)) from None
        arrival = Arrival(round, member.node, bytes.fromhex(report), message)
        return acknowledged(await self.writer.store(arrival))

    def invited(self, secret: bytes) -> bool:
        """Return whether a token with this secret was given to somebody."""
        with self.collection.database.reading() as connection:
            return roster.is_invited(connection, secret)

    def _load(self, number: int) -> AskedRound:
        """A round from the database, read once, however many ask for it."""
        with self._loading:
            rounds = self._rounds
            if number not in rounds:
                try:
                    found = AskedRound(self.collection.round(number))
                except InputError:
                    raise ProblemError(404, f"there is no round {number}: see GET /v1/questions") from None
                while len(rounds) >= ROUNDS_KEPT:
                    rounds.pop(next(iter(rounds)))
                rounds[number] = found
            return rounds[number]

    def questions(self, node: int) -> list[dict[str, str]]:
        """Return the signed questions that a user has not answered, as many as a device reads at one time."""
        answered = select(REPORTS.c.node).where(REPORTS.c.round == ROUNDS.c.number, REPORTS.c.node == node)
        opened = (
            select(ROUNDS.c.number)
            .where(ROUNDS.c.closed.is_(False), ROUNDS.c.expires > int(time.time()), ~answered.exists())
            .order_by(ROUNDS.c.number)
        )
        with self.collection.database.reading() as connection:
            numbers = list(connection.execute(opened).scalars())
        settings, key = self.collection.settings, self.collection.key
        left = questions_limit(question_numbers(settings.dims, settings.classes))
        signed: list[dict[str, str]] = []
        for number in numbers:
            asked = self._rounds.get(number) or self._load(number)
            if not asked.asks(node):
                continue
            unsigned = SignedQuestion(
                asked.question(node, settings.id, settings.purpose).payload(), bytes(64)
            )
            told = SignedQuestion(unsigned.payload, key.sign(unsigned.signed)).as_dict()
            left -= len(told["payload"]) + AROUND
            if left < 0 or len(signed) == MAX_QUESTIONS:
                break
            signed.append(told)
        return signed

    def answered(self, node: int) -> int:
        """Return the number of reports of a user. Rounds that ask the same share one, under one id."""
        # By rounds, as reports are ordered: otherwise all of them would be looked through.
        own = (REPORTS.c.round.in_(select(ROUNDS.c.number)), REPORTS.c.node == node)
        with self.collection.database.reading() as connection:
            counted = connection.execute(select(func.count(distinct(REPORTS.c.report))).where(*own))
            return int(counted.scalar_one())

    async def ready(self) -> None:
        """Refuse where nothing could be stored now. Those who ask at about the same time share one attempt."""
        if self._attempt is None or (self._attempt.done() and time.monotonic() > self._attempted + PROBE):
            self._attempted, self._attempt = time.monotonic(), asyncio.create_task(self._attempt_to_store())
        error = await asyncio.shield(self._attempt)
        if error is not None:
            raise type(error)(str(error))

    async def _attempt_to_store(self) -> StoreError | None:
        self._ready = False
        try:
            await self.writer.run(try_storing)
        except StoreError as error:
            return error
        self._ready = True
        return None

    async def forget(self, node: int) -> None:
        """Delete what a user has sent; it is overwritten soon after."""
        await self.writer.run(lambda connection: roster.forget(connection, node))
        self._deleted.set()

    async def sweep(self) -> None:
        """Delete what is older than the collection keeps it, and overwrite what was deleted: every hour, and soon after somebody was forgotten."""
        while True:
            begun, done = time.monotonic(), True
            try:
                await run_in_threadpool(self.collection.delete_expired)
                done = await run_in_threadpool(self.collection.database.wipe)
            except StoreError as error:
                # It is tried again, as everything is.
                self.unusable(error)
            if not done:
                await asyncio.sleep(AGAIN)
                continue
            await asyncio.sleep(REST * (time.monotonic() - begun))
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP):
                    await self._deleted.wait()
                await asyncio.sleep(SOON)
            self._deleted.clear()

    def unusable(self, error: StoreError) -> Response:
        """Return the response to send while the database cannot be used.

        The log gets at most one line for all such responses within a minute.
        """
        if time.monotonic() > self._logged + QUIET:
            self._logged = time.monotonic()
            LOGGER.error("%s", error)
        if self._ready:
            # What an earlier probe has found is not true any more.
            self._attempt = None
        if isinstance(error, ReplacedError):
            # A backup may be used next, which has other rounds.
            self._rounds = {}
        return problem_response(503, "nothing was stored: send the same again later", {"Retry-After": "5"})


class RateLimit:
    """Remembers when each sender's bucket will be full."""

    def __init__(
        self,
        a_second: float = A_SECOND,
        at_once: int = AT_ONCE,
        remembered: int = REMEMBERED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gap, self._at_once, self._remembered, self._clock = 1.0 / a_second, at_once, remembered, clock
        self._full: OrderedDict[Hashable, float] = OrderedDict()

    def wait(self, sender: Hashable) -> float:
        """Count a request; 0 where it may go on, else how many seconds to wait for the next one."""
        now = self._clock()
        full = max(self._full.get(sender, now), now) + self._gap
        late = full - now - self._gap * self._at_once
        if late > 1e-9:
            return late
        self._full[sender] = full
        self._full.move_to_end(sender)
        if len(self._full) > self._remembered:
            self._full.popitem(last=False)
        return 0.0


class Members:
    """Looks members up by their credentials, all that are asked for at one time in one query.

    Nothing is remembered: a credential counts as long as the database has it.
    """

    def __init__(self, database: Database) -> None:
        # Of its own: nobody who asks for more has to be waited for.
        self._database, self._thread = database, ThreadPoolExecutor(1, "graphveil-members")
        self._queries = Batches(self._found, self._thread)

    async def find(self, credential: str) -> Member | None:
        """Return the member who holds a credential; what does not have the form of one is nobody's, and costs no query."""
        return await self._queries.add(credential_hash(credential)) if FORM.fullmatch(credential) else None

    def stop(self) -> None:
        """End its thread."""
        self._thread.shutdown()

    def _found(self, hashes: list[bytes]) -> list[Member | None]:
        with self._database.reading() as connection:
            found = find_members(connection, list(set(hashes)))
        return [found.get(each) for each in hashes]


def acknowledged(outcome: ArrivalOutcome) -> int:
    """Return the status that a device is told once an outcome is durable; a ProblemError says why it is refused."""
    if outcome in ACKNOWLEDGED:
        return ACKNOWLEDGED[outcome]
    if outcome in REFUSED:
        raise ProblemError(*REFUSED[outcome])
    raise unknown_credential()


def unknown_credential(*, derived: bool = False) -> ProblemError:
    """Return the refusal of a credential; one that is ``derived`` only serves to register another."""
    return ProblemError(401, DERIVED if derived else UNKNOWN)
