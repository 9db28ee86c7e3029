"""Group commit: whoever sends a report waits for the one transaction that makes all reports of the moment durable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from graphveil.collect.arrivals import Arrival, ArrivalOutcome, store
from graphveil.collect.database import Database
from graphveil.errors import StoreError

# Reports of one transaction at most.
MOST = 512
# How long somebody may take to be counted in, in seconds.
GATHER = 0.001
# Another process may have stored one of them in between: then it is looked at again.
ATTEMPTS = 3

T = TypeVar("T")


class Writer:
    """One thread writes, for one event loop. Nothing is told to anybody before it is committed."""

    def __init__(self, database: Database, told: Callable[[int, float], None] | None = None) -> None:
        """``told`` is called after every commit of reports: how many are new, and how many seconds it took."""
        self._database, self._told = database, told
        self._thread = ThreadPoolExecutor(1, "graphveil-writer")
        self._waiting: list[tuple[Arrival, asyncio.Future[ArrivalOutcome]]] = []
        self._committing: asyncio.Task[None] | None = None
        # How many shared the last commit: whoever was told then sends the next one now.
        self._expected = 1

    async def store(self, arrival: Arrival) -> ArrivalOutcome:
        """What became of a report, once it is durable: all that arrive during a commit share the next one."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ArrivalOutcome] = loop.create_future()
        self._waiting.append((arrival, future))
        if self._committing is None or self._committing.done():
            self._committing = loop.create_task(self._commit_all())
        return await future

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of some work in a transaction of its own, once it is durable."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, work)

    def stop(self) -> None:
        """Write what was given until now, and end."""
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        while self._waiting:
            await self._gathered()
            batch = self._waiting[:MOST]
            self._expected = len(batch)
            del self._waiting[:MOST]
            arrivals = [arrival for arrival, _ in batch]
            commit = asyncio.get_running_loop().run_in_executor(self._thread, self._stored, arrivals)
            await asyncio.wait([commit])
            error = commit.exception()
            for place, (_, future) in enumerate(batch):
                if future.done():
                    # Whoever sent it has gone; what is stored is stored.
                    continue
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(commit.result()[place])

    async def _gathered(self) -> None:
        """Wait as long as more are coming, up to as many as came before: a commit costs the same for one report and for many."""
        before = 0
        while before < len(self._waiting) < self._expected:
            before = len(self._waiting)
            await asyncio.sleep(GATHER)

    def _stored(self, arrivals: list[Arrival]) -> list[ArrivalOutcome]:
        begun = time.perf_counter()
        for attempt in range(ATTEMPTS):
            try:
                # Two reports with one id are rare: they are looked for where the database has seen some.
                outcomes = self._done(partial(store, arrivals=arrivals, careful=attempt > 0))
            except IntegrityError:
                continue
            if self._told is not None:
                self._told(outcomes.count(ArrivalOutcome.STORED), time.perf_counter() - begun)
            return outcomes
        raise StoreError("reports could not be stored: another process stores the same ones, send them again")

    def _done(self, work: Callable[[Connection], T]) -> T:
        with self._database.writing() as connection:
            result = work(connection)
        return result
