"""The collector as a process: uvicorn around the application, without a log of who asks for what."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import Any

import uvicorn

from graphveil.collect.protocol import Protocol
from graphveil.collect.service import create_app
from graphveil.collect.storage import Collection
from graphveil.errors import InputError, visible

# A connection that says nothing is closed after so many seconds, and so is what is left when the process ends.
IDLE, GRACE = 30, 10
# Connections that wait to be taken.
BACKLOG = 2048


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
            f"{host}:{port} cannot be listened at ({os.strerror(error.errno or 0)}): name another --host or --port"
        ) from None


def serve(collection: Collection, listening: socket.socket, origins: Sequence[str] = ()) -> None:
    """Take answers until interrupted. One process: it is the only one that commits reports together."""
    config = uvicorn.Config(
        create_app(collection, origins=origins),
        http=Protocol,
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
