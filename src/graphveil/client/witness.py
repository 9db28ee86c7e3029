"""A witness of how far a device's books have come, kept apart from them: it notices books that come from an old backup.

The books count every charge, and give each a random mark. The witness, one small file for each device in a folder that is never the
books' own (see `graphveil.settings`), holds the count and the mark of the last charge whose answer may have left. It is locked while a device
answers, brought up to date after the charge is on the disk and before the first byte leaves. So

- books at the same count and mark: nothing was lost;
- books one charge ahead, made from the witness's: the device stopped between the two, and nothing was sent: the witness follows;
- anything else, or no witness: the books were restored, copied or moved. The device answers nothing until its owner says what was spent.

It also holds in which collections anything was answered: one that restored books do not know has its cap spent when it is enrolled in anew. And how
often the key of each has passed on, and to which: restored books do not believe an older key.

A witness that was restored together with the books, as in an image of the whole disk, notices nothing. Then the collector's own count of
answers may: see `Device.note_answered`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphveil.errors import InputError, StoreError

# How long to wait for another process that answers, in seconds.
PATIENCE = 60.0
TABLES = (
    "witness (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, last TEXT NOT NULL)",
    "answered (collection TEXT PRIMARY KEY)",
    "keys (collection TEXT PRIMARY KEY, number INTEGER NOT NULL, key BLOB NOT NULL)",
)


@dataclass(frozen=True)
class Mark:
    """The number of charges, and the random marks of the last of them and of the one before."""

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
        """The mark that was seen last; None where the witness is new."""
        row = self._connection.execute("SELECT count, last FROM witness").fetchone()
        return None if row is None else Mark(*row)

    def see(self, mark: Mark) -> None:
        """Record a mark; it is on the disk once the lock is given back."""
        seen = self.mark
        if seen is not None and (seen.count, seen.last) == (mark.count, mark.last):
            return
        self._connection.execute("INSERT OR REPLACE INTO witness VALUES (1, ?, ?)", (mark.count, mark.last))

    def key(self, collection: str) -> tuple[int, bytes] | None:
        """Return how many changes of a collection's key were followed, and to which key.

        None if never recorded.
        """
        found = self._connection.execute("SELECT number, key FROM keys WHERE collection = ?", (collection,))
        row = found.fetchone()
        return None if row is None else (int(row[0]), bytes(row[1]))

    def follows(self, collection: str, number: int, key: bytes) -> None:
        """Record that a key is followed; it is on the disk once the lock is given back.

        Parameters
        ----------
        collection
            The collection's id.
        number
            How many changes of the key led to it.
        key
            The key, 32 bytes.
        """
        if self.key(collection) != (number, key):
            self._connection.execute(
                "INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", (collection, number, key)
            )

    def has_answered(self, collection: str) -> bool:
        """Whether the device has ever answered a collection."""
        known = self._connection.execute("SELECT 1 FROM answered WHERE collection = ?", (collection,))
        return known.fetchone() is not None

    def answers(self, collection: str) -> None:
        """Record that a collection is answered; it is on the disk once the lock is given back."""
        if not self.has_answered(collection):
            self._connection.execute("INSERT INTO answered VALUES (?)", (collection,))

    def adopt(self, other: Witness) -> None:
        """Take over what another witness of the same device knows, where it is further ahead."""
        seen, own = other.mark, self.mark
        if seen is not None and (own is None or seen.count > own.count):
            self.see(seen)
        for (collection,) in other._connection.execute("SELECT collection FROM answered").fetchall():
            self.answers(collection)
        for collection, number, key in other._connection.execute("SELECT * FROM keys").fetchall():
            known = self.key(collection)
            if known is None or number > known[0]:
                self.follows(collection, number, key)


def check_apart(file: Path, folder: Path) -> None:
    """Refuse books and a folder of witnesses of which one lies in the folder of the other, by whatever links."""
    with usable(folder):
        books, witnesses = file.resolve().parent, folder.resolve()
        apart = not _holds(books, witnesses) and not _holds(witnesses, books)
    if not apart:
        raise InputError(
            f"the folder of the books ({str(books)!r}) and that of their witness ({str(witnesses)!r}) must not lie in one another: a restored "
            "backup would bring back both unnoticed; keep the books in a folder of their own, or set GRAPHVEIL_WITNESS to a folder elsewhere"
        )


def _holds(outer: Path, inner: Path) -> bool:
    """Whether a folder is another one, or lies above it. Names may differ on file systems that ignore case."""
    above = (inner, *inner.parents)
    there = [each for each in above if each.exists()]
    return outer in above or (outer.exists() and any(each.samefile(outer) for each in there))


def move_witness(former: Path, folder: Path, instance: str) -> None:
    """Move the witness of a device out of the folder where it was kept before, if it is there.

    The old file goes only after the new one is on the disk. A stop in between loses nothing: it is done again, and whichever is further
    ahead counts.

    Parameters
    ----------
    former
        The folder where the witness was kept before.
    folder
        The folder where it is kept now.
    instance
        The random name of the device's books.
    """
    file, own = (each / f"{instance}.sqlite" for each in (former, folder))
    if not file.exists() or (own.exists() and own.samefile(file)):
        return
    with locked_witness(former, instance) as old, locked_witness(folder, instance) as new:
        new.adopt(old)
    # Another process may have it open, and will delete it.
    with suppress(OSError):
        file.unlink()


@contextmanager
def locked_witness(folder: Path, instance: str) -> Iterator[Witness]:
    """The witness of a device; nobody else answers for that device meanwhile."""
    file = folder / f"{instance}.sqlite"
    with usable(file):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            check_types(connection)
            yield Witness(connection)
            connection.execute("COMMIT")


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


def check_types(connection: sqlite3.Connection) -> None:
    """Refuse a file with a value of another type than its column: SQLite stores any value anywhere."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
    for (table,) in tables.fetchall():
        for _, name, kind, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
            if not kind:
                continue
            wrong = f'SELECT 1 FROM "{table}" WHERE typeof("{name}") NOT IN (?, \'null\')'
            if connection.execute(wrong, (kind.lower(),)).fetchone() is not None:
                raise sqlite3.DataError(f"a value in its table {table} is damaged")


@contextmanager
def usable(file: Path) -> Iterator[None]:
    """Say in a StoreError what SQLite and the operating system complain of."""
    try:
        yield
    except (OSError, sqlite3.Error, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"{str(file)!r} cannot be read or written ({said}): nothing was answered; see who may write there, and that it is a "
            "file of graphveil"
        ) from None
