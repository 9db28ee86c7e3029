"""A witness of how far a device's books have come, kept apart from them: it notices books that come from an old backup.

The books count every charge, and give each a random mark. The witness, one small file for each device in the state folder of the
operating system's user, holds the count and the mark of the last charge whose answer may have left. It is locked while a device
answers, brought up to date after the charge is on the disk and before the first byte leaves. So

- books at the same count and mark: nothing was lost;
- books one charge ahead, made from the witness's: the device stopped between the two, and nothing was sent: the witness follows;
- anything else, or no witness: the books were restored, copied or moved. The device answers nothing until its owner says what was spent.

It also holds in which collections anything was answered: one that restored books do not know has its cap spent when it is enrolled in anew. And how
often the key of each has passed on, and to which: restored books do not believe an older key.

A witness that was restored together with the books, as in an image of the whole disk, notices nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graphveil.errors import StoreError

# How long to wait for another process that answers, in seconds.
PATIENCE = 60.0


@dataclass(frozen=True)
class Mark:
    """How many charges there were, and the random marks of the last of them and of the one before."""

    count: int
    last: str
    before: str = ""

    def continues(self, seen: Mark) -> bool:
        """Whether these books are those that the witness has seen, or those with one more charge, which was never sent."""
        if self.count == seen.count:
            return self.last == seen.last
        return self.count == seen.count + 1 and self.before == seen.last


class Witness:
    """The file of one device's witness, while it is locked."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def mark(self) -> Mark | None:
        """What was seen last; None where the witness is new."""
        row = self._connection.execute("SELECT count, last FROM witness").fetchone()
        return None if row is None else Mark(*row)

    def see(self, mark: Mark) -> None:
        """Put down a mark; it is on the disk once the lock is given back."""
        seen = self.mark
        if seen is not None and (seen.count, seen.last) == (mark.count, mark.last):
            return
        self._connection.execute("INSERT OR REPLACE INTO witness VALUES (1, ?, ?)", (mark.count, mark.last))

    def key(self, collection: str) -> tuple[int, bytes] | None:
        """How many changes of a collection's key were followed, and to which key; None where it was never put down."""
        found = self._connection.execute("SELECT number, key FROM keys WHERE collection = ?", (collection,))
        row = found.fetchone()
        return None if row is None else (int(row[0]), bytes(row[1]))

    def follows(self, collection: str, number: int, key: bytes) -> None:
        """Put down that a key is followed; it is on the disk once the lock is given back."""
        if self.key(collection) != (number, key):
            self._connection.execute(
                "INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", (collection, number, key)
            )

    def has_answered(self, collection: str) -> bool:
        """Whether the device has ever answered a collection."""
        known = self._connection.execute("SELECT 1 FROM answered WHERE collection = ?", (collection,))
        return known.fetchone() is not None

    def answers(self, collection: str) -> None:
        """Put down that a collection is answered; it is on the disk once the lock is given back."""
        if not self.has_answered(collection):
            self._connection.execute("INSERT INTO answered VALUES (?)", (collection,))


@contextmanager
def locked_witness(folder: Path, instance: str) -> Iterator[Witness]:
    """The witness of a device; nobody else answers for that device meanwhile."""
    file = folder / f"{instance}.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS witness (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, last TEXT NOT NULL)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS answered (collection TEXT PRIMARY KEY)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS keys (collection TEXT PRIMARY KEY, number INTEGER NOT NULL, key BLOB NOT NULL)"
            )
            yield Witness(connection)
            connection.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        raise unusable(file, error) from None


def connect(file: Path) -> sqlite3.Connection:
    """A database that only its owner may read; what is committed is on the disk, even if the power fails right after."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def unusable(file: Path, error: Exception) -> StoreError:
    """Why a file cannot be used."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return StoreError(
        f"{str(file)!r} cannot be read or written ({said}): nothing was answered; see who may write there, and that it is a "
        "file of graphveil"
    )
