"""Members by their credentials: all that are asked for at one time are looked up in one query."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from graphveil.collect.database import Database
from graphveil.collect.roster import Member, find_members
from graphveil.privacy.credential import FORM, credential_hash

# Credentials of one query at most.
MOST = 512


class Members:
    """Looks members up, for one event loop. Nothing is remembered: a credential counts as long as the database has it."""

    def __init__(self, database: Database) -> None:
        # Of its own: nobody who asks for more has to be waited for.
        self._database, self._thread = database, ThreadPoolExecutor(1, "graphveil-members")
        self._waiting: list[tuple[bytes, asyncio.Future[Member | None]]] = []
        self._looking: asyncio.Task[None] | None = None

    async def find(self, credential: str) -> Member | None:
        """Return the member who holds a credential; what does not have the form of one is nobody's, and costs no query."""
        if FORM.fullmatch(credential) is None:
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Member | None] = loop.create_future()
        self._waiting.append((credential_hash(credential), future))
        if self._looking is None or self._looking.done():
            self._looking = loop.create_task(self._look_up_all())
        return await future

    def stop(self) -> None:
        """End its thread."""
        self._thread.shutdown()

    async def _look_up_all(self) -> None:
        while self._waiting:
            batch = self._waiting[:MOST]
            del self._waiting[:MOST]
            hashes = list({each for each, _ in batch})
            found = asyncio.get_running_loop().run_in_executor(self._thread, self._found, hashes)
            await asyncio.wait([found])
            error = found.exception()
            for each, future in batch:
                if future.done():
                    # The sender has gone.
                    continue
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(found.result().get(each))

    def _found(self, hashes: list[bytes]) -> dict[bytes, Member]:
        with self._database.reading() as connection:
            return find_members(connection, hashes)
