"""The SQLite file of results: units, trials and results, safe against crashes and other processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphveil.errors import StoreError

# The file's name in the cache.
RESULTS = "results.sqlite"
# How long to wait for other processes that write, in seconds; each needs a few milliseconds.
PATIENCE = 60.0
# Marks the file as ours, among all that SQLite writes ("gvl" and a byte).
OURS = 0x67766C00
# What makes each layout out of the one before it: a file of an old one is read as it is, and brought up to date by the first
# command that writes to it. A change of the tables is one more entry, and no other is ever changed again.
_FIRST = (
    """CREATE TABLE units (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        setting TEXT NOT NULL, seed TEXT NOT NULL, part TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
        version TEXT NOT NULL, time TEXT NOT NULL, unit TEXT NOT NULL,
        UNIQUE (setting, seed, part, data, source)
    )""",
    """CREATE TABLE trials (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        search TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
        version TEXT NOT NULL, time TEXT NOT NULL, trial TEXT NOT NULL
    )""",
    "CREATE INDEX trials_by_search ON trials (search, data)",
    """CREATE TABLE results (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL, time TEXT NOT NULL, result TEXT NOT NULL
    )""",
)
# Results have a digest, so that the same one is not there twice (those of before have none), and tags.
_TAGS = (
    "ALTER TABLE results ADD COLUMN digest TEXT",
    "CREATE UNIQUE INDEX results_by_digest ON results (digest)",
    """CREATE TABLE tags (
        result INTEGER NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (result, name)
    ) WITHOUT ROWID""",
)
LAYOUTS = {1: _FIRST, 2: _TAGS}
LAYOUT = max(LAYOUTS)


def select(
    file: Path, query: str, *parameters: tuple[Any, ...], since: int = 1
) -> list[list[tuple[Any, ...]]]:
    """The rows that a query gives with each of these parameters; none where there is no file yet.

    What the query asks for is there ``since`` a layout: a file of an older one has none of it.
    """
    with _sentences(file):
        if not file.exists():
            return [[] for _ in parameters]
        with closing(_reading(file)) as connection:
            if _layout(file, connection) < since:
                return [[] for _ in parameters]
            return [connection.execute(query, each).fetchall() for each in parameters]


def insert(file: Path, statement: str, parameters: tuple[Any, ...]) -> None:
    """Add a row; it is on the disk when this returns."""
    with _writing(file) as connection:
        connection.execute(statement, parameters)


def change(file: Path, *statements: tuple[str, Sequence[tuple[Any, ...]]]) -> int:
    """Carry out statements, each with all of its parameters: all of them or none. How many rows were changed in all."""
    with _writing(file) as connection:
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes
        for statement, parameters in statements:
            connection.executemany(statement, parameters)
        changed = connection.total_changes - before
        connection.execute("COMMIT")
    return changed


def check_writable(file: Path) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    with _writing(file) as connection:
        # SQLite opens a file that may only be read, and begins with it, without a word: only a change is refused.
        connection.execute("DELETE FROM units WHERE id < 0")


@contextmanager
def _writing(file: Path) -> Iterator[sqlite3.Connection]:
    """The file, opened to be written; it is made where there is none yet."""
    with _sentences(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect(file, "rwc")) as connection:
            if _layout(file, connection) < LAYOUT:
                _lay_out(file, connection)
            _log_ahead(connection)
            # In WAL mode NORMAL writes the log to the disk at checkpoints only: after a power cut, the last units would be
            # gone. FULL does it with every commit, so what was told to be kept is kept.
            connection.execute("PRAGMA synchronous = FULL")
            yield connection


def _reading(file: Path) -> sqlite3.Connection:
    """The file, opened to be read.

    SQLite keeps a log beside it even then. Where that may not be, and none is there, nobody is writing: so SQLite is told.
    """
    connection = _connect(file, "rw")
    try:
        connection.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        connection.close()
        log = file.with_name(f"{file.name}-wal")
        if _code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or log.exists():
            raise
        return _connect(file, "ro&immutable=1")
    return connection


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(file.absolute()))}?mode={mode}"
    connection = sqlite3.connect(address, timeout=PATIENCE, isolation_level=None, uri=True)
    # A damaged text must not hide all others.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _layout(file: Path, connection: sqlite3.Connection) -> int:
    """The number of the file's layout, 0 where it is still empty; what is not ours or newer is refused."""
    layout, mark, tables = (
        connection.execute(query).fetchone()[0]
        for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if not (layout or mark or tables):
        return 0
    if mark != OURS:
        raise StoreError(
            f"{file} is a database of something else: move it away, and a new one is made in its place"
        )
    if layout > LAYOUT:
        raise StoreError(
            f"{file} was written by a newer graphveil (layout {layout}, this one knows {LAYOUT}): update graphveil, or name "
            "another folder with GRAPHVEIL_CACHE"
        )
    return int(layout)


def _lay_out(file: Path, connection: sqlite3.Connection) -> None:
    """Make the tables, or what they lack, unless another process has done so meanwhile; whoever is killed has done nothing."""
    connection.execute("BEGIN IMMEDIATE")
    layout = _layout(file, connection)
    for number in range(layout + 1, LAYOUT + 1):
        for statement in LAYOUTS[number]:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {OURS}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, which lets others read while one writes; the file stays so."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself here while another process switches.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


@contextmanager
def _sentences(file: Path) -> Iterator[None]:
    """Turn what SQLite and the system complain about into what is wrong and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_sentence(file, error)) from None
    except UnicodeDecodeError:
        # What SQLite complains about quotes the name of a damaged table.
        raise StoreError(_damaged(file, "it holds names that are not UTF-8")) from None
    except OSError as error:
        raise StoreError(_unwritable(file, error.strerror or str(error))) from None


def _sentence(file: Path, error: sqlite3.Error) -> str:
    code = _code(error)
    if code == sqlite3.SQLITE_NOTADB:
        return f"{file} is no database: move it away, and a new one is made in its place; nothing of it was changed"
    if code == sqlite3.SQLITE_FULL:
        return f"{file} cannot be written, the disk is full: make room, or name another folder with GRAPHVEIL_CACHE"
    if code == sqlite3.SQLITE_BUSY:
        return f"{file} has been locked by another process for {PATIENCE:g} seconds: end that one, or try again later"
    if code in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_AUTH,
    ):
        return _unwritable(file, str(error))
    return _damaged(file, str(error))


def _damaged(file: Path, reason: str) -> str:
    return f"{file} is damaged ({reason}): move it away, and a new one is made in its place; nothing of it was changed"


def _unwritable(file: Path, reason: str) -> str:
    return f"{file} cannot be read or written ({reason}): allow it, make room, or name another folder with GRAPHVEIL_CACHE"


def _code(error: sqlite3.Error) -> int:
    """What SQLite calls the error, without its finer distinctions."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
