"""The collector as a process: uvicorn around the application, without a log of who asks for what."""

from __future__ import annotations

from collections.abc import Sequence

import uvicorn

from graphveil.collect.service import create_app
from graphveil.collect.storage import Collection

# A connection that says nothing is closed after so many seconds, and so is what is left when the process ends.
IDLE, GRACE = 30, 10


def serve(collection: Collection, host: str, port: int, origins: Sequence[str] = ()) -> None:
    """Take answers until interrupted. One process: it is the only one that commits reports together."""
    config = uvicorn.Config(
        create_app(collection, origins=origins),
        host=host,
        port=port,
        # A path holds a report's id, and a log would put an address beside it.
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
    )
    uvicorn.Server(config).run()
    collection.database.close()
