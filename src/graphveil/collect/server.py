"""The collector as a process: uvicorn around the application, HTTP/1.1 without patience for who holds a connection for nothing, and no log of who asks for what."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from graphveil.collect.app import create_app
from graphveil.collect.problems import problem_response
from graphveil.collect.storage import Collection
from graphveil.errors import InputError, visible

WRONG = "this is no request of HTTP/1.1: send a path in ASCII, plain headers, and one length"
# Every so many seconds a connection must have ended a request, or have moved so many bytes one way or the other.
PATIENCE, MOVED = 60.0, 8192
# A connection that says nothing is closed after so many seconds, and so is what is left when the process ends.
IDLE, GRACE = 30, 10
# Connections that wait to be taken.
BACKLOG = 2048


class CollectorProtocol(H11Protocol):
    """One connection of HTTP/1.1, as uvicorn reads it with h11.

    Invalid HTTP is refused in the same form as everything else, and nobody holds a connection for nothing.
    """

    _look: asyncio.TimerHandle | None = None
    # Answers that were given, bytes that came, and bytes that were not taken yet, as they were at the last look.
    _answered = _received = 0
    _before = (0, 0, 0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look at it, again and again."""
        super().connection_made(transport)
        self._look = self.loop.call_later(PATIENCE, self._end_if_stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look at it no more."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Count what was answered."""
        self._answered += 1
        super().on_response_complete()

    def _end_if_stuck(self) -> None:
        """End a connection that waits for somebody who sends or takes next to nothing: uvicorn ends only those that had an answer and say nothing."""
        untaken = self.transport.get_write_buffer_size()
        answered, received, left = self._before
        at_work = not untaken and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        moved = self._answered > answered or self._received - received >= MOVED or left - untaken >= MOVED
        if not at_work and not moved:
            self.transport.abort()
            return
        self._before = self._answered, self._received, untaken
        self._look = self.loop.call_later(PATIENCE, self._end_if_stuck)

    def _should_upgrade(self) -> bool:
        """Nothing but HTTP is spoken here, whatever is installed beside it."""
        return False

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong, and end the connection: nobody knows where the next request would begin."""
        # An answer may have been given already, to what came before: a second one would be a fault, and a traceback in the log.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = problem_response(400, WRONG, {"Connection": "close"})
            head = h11.Response(status_code=400, headers=problem.raw_headers, reason=STATUS_PHRASES[400])
            for event in (head, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            # The answer to the beginning of it has nowhere to go.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()


class VisibleFormatter(logging.Formatter):
    """Records of a log as they can be seen; every line after the first is indented, so that none passes for another record."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n  ".join(map(visible, super().format(record).split("\n")))


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"visible": {"()": VisibleFormatter, "fmt": "%(levelname)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "visible"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that listens; at port 0 the system chooses one that is free."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be used ({error.strerror}): name another --host or --port"
        ) from None


def serve(collection: Collection, listening: socket.socket, origins: Sequence[str] = ()) -> None:
    """Serve a collection until interrupted, in one process, the only one that commits reports together.

    Parameters
    ----------
    collection
        The collection.
    listening
        A socket that listens.
    origins
        The origins of web pages that may send requests.
    """
    config = uvicorn.Config(
        create_app(collection, origins=origins),
        http=CollectorProtocol,
        # A path holds a report's id, and a log would put an address beside it.
        access_log=False,
        log_config=LOGGING,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
    )
    uvicorn.Server(config).run([listening])
    collection.database.close()
