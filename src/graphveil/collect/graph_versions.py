"""Versions of the public graph: a file of each in the collection's folder, and its digest in the database."""

from __future__ import annotations

import hashlib
import time
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection, insert, select

from graphveil.collect.folder import graph_file
from graphveil.collect.public_graph import PublicGraph
from graphveil.collect.schema import GRAPHS
from graphveil.errors import InputError


def read_versions(connection: Connection) -> dict[int, int]:
    """How many users each version of the graph has."""
    return {row.version: row.users for row in connection.execute(select(GRAPHS.c.version, GRAPHS.c.users))}


def keep_graph(connection: Connection, folder: Path, version: int, public: PublicGraph) -> None:
    """Write a version beside the others, and put down its digest."""
    file = graph_file(folder, version)
    public.write(file)
    connection.execute(
        insert(GRAPHS).values(
            version=version,
            users=public.users,
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
            added=int(time.time()),
        )
    )


@lru_cache(maxsize=4)
def read_graph(folder: Path, version: int, expected: str) -> PublicGraph:
    """The graph of a version, which must be the one that was kept; it never changes, so it is read once."""
    file = graph_file(folder, version)
    try:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}): it is the public graph, restore it"
        ) from None
    if found != expected:
        raise InputError(f"{file} was changed since it was made: restore it from a backup")
    return PublicGraph.read(file)
