"""Storing uploads in groups: a sender waits for the one transaction that makes all reports of the moment durable."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, PrimaryKeyConstraint, UniqueConstraint, delete, insert, select
from sqlalchemy.exc import IntegrityError

from graphveil.collect.database import Database, lock_shared
from graphveil.collect.schema import ACTIONS, REPORTS, ROSTER, ROUNDS, ROWS, SECONDS_A_DAY
from graphveil.errors import StoreError

# Reports of one transaction at most, and credentials of one query.
MOST = 512
# How long somebody may take to be counted in, in seconds.
GATHER = 0.001
# Another process may have stored one of them in between: then it is looked at again.
ATTEMPTS = 3

T = TypeVar("T")
Item = TypeVar("Item")
Done = TypeVar("Done")


class ArrivalOutcome(Enum):
    """The outcome of storing a report or a row."""

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
    """Store all that can be stored, and return the outcome of each; durable when the transaction is.

    Parameters
    ----------
    connection
        A writing transaction.
    arrivals
        The reports.
    careful
        Whether to look for ids that other reports have. If not, one raises an IntegrityError, and everything
        must be stored again, carefully.
    """
    lock_shared(connection)
    place = "?" if connection.dialect.paramstyle == "qmark" else "%s"

    def rows(words: str, *values: bytes) -> Sequence[Any]:
        return connection.exec_driver_sql(words, values).all()

    # RandomBits, and numbers in them: expressions would be built, and compiled, for each commit anew.
    nodes = ", ".join(str(int(node)) for node in sorted({each.node for each in arrivals}))
    rounds = ", ".join(str(int(round)) for round in sorted({each.round for each in arrivals}))
    closed = dict(rows(f"SELECT number, closed FROM rounds WHERE number IN ({rounds})"))
    enrolled = rows(f"SELECT node FROM roster WHERE node IN ({nodes}) AND credential IS NOT NULL")
    active = {node for (node,) in enrolled}
    columns = "SELECT round, node, report, message FROM reports WHERE"
    there = {
        (round, node): (bytes(report), bytes(message))
        for round, node, report, message in rows(f"{columns} round IN ({rounds}) AND node IN ({nodes})")
    }
    taken = set[tuple[int, bytes]]()
    if careful:
        ids = [each.report for each in arrivals]
        same = f"SELECT round, report FROM reports WHERE round IN ({rounds}) AND report IN ({', '.join([place] * len(ids))})"
        taken |= {(round, bytes(report)) for round, report in rows(same, *ids)}
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
        connection.exec_driver_sql(
            f"INSERT INTO reports (round, node, report, message, day) VALUES ({', '.join([place] * 5)})",
            sorted(fresh),
        )
    return outcomes


def store_row(connection: Connection, node: int, numbers: bytes) -> ArrivalOutcome:
    """Store the raw row of a volunteer.

    Parameters
    ----------
    connection
        A writing transaction.
    node
        The user.
    numbers
        The bytes of the row.
    """
    lock_shared(connection)
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


class Batches(Generic[Item, Done]):
    """Work for many requests of one event loop, done together in one thread: all that arrive during a batch share the next one."""

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Done]],
        thread: ThreadPoolExecutor,
        *,
        gather: bool = False,
    ) -> None:
        """Start with nobody waiting.

        Parameters
        ----------
        work
            Called in the thread with the items of a batch; returns a result for each.
        thread
            The one thread, which others may use too.
        gather
            Whether a batch waits as long as more are coming, up to as many as came before: for work that costs the same for one
            item and for many.
        """
        self._work, self._thread, self._gather = work, thread, gather
        self._waiting: list[tuple[Item, asyncio.Future[Done]]] = []
        self._running: asyncio.Task[None] | None = None
        # How many shared the last batch: their senders send the next ones now.
        self._expected = 1

    def add(self, item: Item) -> asyncio.Future[Done]:
        """Return what will have become of an item once its batch is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Done] = loop.create_future()
        self._waiting.append((item, future))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._run())
        return future

    async def _run(self) -> None:
        while self._waiting:
            if self._gather:
                await self._gathered()
            batch = self._waiting[:MOST]
            self._expected = len(batch)
            del self._waiting[:MOST]
            items = [item for item, _ in batch]
            done = asyncio.get_running_loop().run_in_executor(self._thread, self._work, items)
            await asyncio.wait([done])
            error = done.exception()
            for place, (_, future) in enumerate(batch):
                if future.done():
                    # The sender has gone; what is stored is stored.
                    continue
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(done.result()[place])

    async def _gathered(self) -> None:
        before = 0
        while before < len(self._waiting) < self._expected:
            before = len(self._waiting)
            await asyncio.sleep(GATHER)


class Writer:
    """One thread writes, for one event loop. Nobody hears of a report before it is committed."""

    def __init__(self, database: Database, on_commit: Callable[[int, float], None] | None = None) -> None:
        """``on_commit`` is called after every commit of reports: how many are new, and how many seconds it took."""
        self._database, self._on_commit = database, on_commit
        self._thread = ThreadPoolExecutor(1, "graphveil-writer")
        self._commits = Batches(self._stored, self._thread, gather=True)

    async def store(self, arrival: Arrival) -> ArrivalOutcome:
        """Store a report and return the outcome once it is durable.

        All reports that arrive during a commit share the next one.
        """
        return await self._commits.add(arrival)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of some work in a transaction of its own, once it is durable."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, work)

    def stop(self) -> None:
        """Write what was given until now, and end."""
        self._thread.shutdown()

    def _stored(self, arrivals: list[Arrival]) -> list[ArrivalOutcome]:
        begun = time.perf_counter()
        for attempt in range(ATTEMPTS):
            # Two reports with one id are rare: they are looked for where the database has seen some.
            with suppress(IntegrityError):
                outcomes = self._done(partial(store, arrivals=arrivals, careful=attempt > 0))
                if self._on_commit is not None:
                    self._on_commit(outcomes.count(ArrivalOutcome.STORED), time.perf_counter() - begun)
                return outcomes
        raise StoreError("reports could not be stored: another process stores the same ones, send them again")

    def _done(self, work: Callable[[Connection], T]) -> T:
        with self._database.writing() as connection:
            return work(connection)


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
