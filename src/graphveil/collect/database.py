"""Connections to a collection's database, SQLite or PostgreSQL: what is committed is on the disk."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from graphveil.errors import InputError, StoreError

# How long a writer waits for another one, in seconds.
PATIENCE = 30
WRITING = "graphveil_writing"
REVISION = "3"
# While somebody reads, emptying the log keeps writers waiting no longer than this at a time, in seconds; then they have as long.
BRIEFLY = 0.5
# Errors of SQLite after which its file is still the same: it is in use, the disk is full, or cannot be written.
PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class ReplacedError(StoreError):
    """Another database is at the place of the collection's, or none."""


class Database:
    """One engine; `reading` and `writing` are transactions."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._file = make_url(url).database if self.is_sqlite else None
        self._collection: str | None = None
        self._failures = 0
        event.listen(self.engine, "do_connect", self._before_use)
        event.listen(self.engine, "connect", self._begin_use)
        event.listen(self.engine, "checkin", self._end_use)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self._translated_errors(), self.engine.connect() as connection, connection.begin():
            self._check_owner(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable when this ends, or has never been."""
        with self._translated_errors(), self.engine.connect() as plain:
            connection = plain.execution_options(**{WRITING: True})
            with connection.begin():
                self._check_owner(connection)
                yield connection
            self._check_place(connection)

    def belong_to(self, collection: str) -> None:
        """Refuse from now on to use a database that does not hold the collection with this id."""
        self._collection = collection
        with self.reading():
            pass

    def migrate(self) -> None:
        """Bring the tables up to date."""
        with self.writing() as connection:
            config = Config()
            config.set_main_option("script_location", "graphveil.collect:migrations")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def check(self) -> None:
        """Refuse a database that holds no collection, or one of another layout."""
        with self.reading() as connection:
            if not inspect(connection).has_table("alembic_version"):
                raise StoreError("the database holds no collection: make one with `graphveil collect init`")
            revision = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())
        if revision != REVISION:
            older = revision.isdigit() and int(revision) < int(REVISION)
            bring = "" if older else "update graphveil, then "
            raise StoreError(
                f"the database has layout {revision}, this graphveil reads {REVISION}: {bring}run "
                "`graphveil collect status DIR --migrate`"
            )

    def wipe(self) -> bool:
        """Overwrite what was deleted, where it is a file of SQLite.

        `secure_delete` zeroes what is deleted in the place where it is. Copies stay in parts of pages that became free when their content moved,
        and in the log. So the file is written anew, if anything was deleted since it was last. Other writers wait meanwhile.

        False where others have used the database all the time, so that older pages are still needed: wipe again later.
        """
        if not self.is_sqlite:
            return True
        with self._translated_errors(), closing(self.engine.raw_connection()) as pooled:
            connection = pooled.driver_connection
            assert isinstance(connection, sqlite3.Connection)
            # First, so that no copy is added to a log that cannot be emptied.
            if not _empty_log(connection):
                return False
            deletions = _deletions(connection)
            if deletions > 0 and deletions % 2 == 0:
                return True
            if not _rebuild(connection) or not _empty_log(connection):
                return False
            connection.execute("BEGIN IMMEDIATE")
            if _deletions(connection) == deletions:
                connection.execute(f"PRAGMA user_version = {deletions + 1 + (deletions + 1) % 2}")
            connection.execute("COMMIT")
        return True

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _before_use(self, _dialect: Any, record: ConnectionPoolEntry, *_: Any) -> None:
        # Before it is opened: if it is replaced meanwhile, the connection is given up later instead of trusted for good.
        record.info["file"] = self._file and _identity(self._file)

    def _begin_use(self, _connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["log"] = self._file and _identity(_log(self._file))
        record.info["failures"] = self._failures

    def _end_use(self, _connection: Any, record: ConnectionPoolEntry) -> None:
        """Do not keep a connection from before a failure, which was in use when all others were closed."""
        if record.info.get("failures") != self._failures:
            record.invalidate()

    def _check_owner(self, connection: Connection) -> None:
        """Look once for each connection whether the collection is there: another database may be at its place since."""
        if connection.info.get("collection") == self._collection:
            return
        if connection.exec_driver_sql("SELECT id FROM collection").scalars().all() != [self._collection]:
            self._give_up()
            raise ReplacedError("the database holds another collection: see which one collection.toml names")
        connection.info["collection"] = self._collection

    def _check_place(self, connection: Connection) -> None:
        """Refuse what was committed to a file of SQLite, or to its log, that is not at its path any more."""
        if self._file is None:
            return
        # A file that has just been made had no log yet when it was opened.
        log = connection.info["log"]
        if connection.info["file"] != _identity(self._file) or (log and log != _identity(_log(self._file))):
            self._give_up()
            raise ReplacedError(
                "the database's file or its log was moved or replaced while it was in use: put both back; stop all processes "
                "of the collection before you restore a backup"
            )

    def _give_up(self) -> None:
        """Close all connections, those in use when they are returned."""
        self._failures += 1
        self.close()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise errors of the database as a sentence without any value.

        Connections are made anew afterwards: those that there are may belong to a damaged file, or to a server that only reads now.
        """
        try:
            yield
        except (DataError, IntegrityError):
            # Not the database's fault: something was to be stored that cannot be.
            raise
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError, NoConnectionError) as error:
            if not _is_temporary(error):
                self._give_up()
            raise StoreError(
                f"the collection's database cannot be used ({_reason(error)}): see that it is there and runs, is not full or "
                "damaged, and may be written"
            ) from error


def check_url(url: str) -> str:
    """Return the URL of a database that can be used, or say what it must be."""
    try:
        name = make_url(url).get_backend_name()
    except ArgumentError:
        name = ""
    if name not in ("sqlite", "postgresql"):
        raise InputError(
            "--database must be the URL of a PostgreSQL database, postgresql://USER@HOST/NAME: leave it out for a file "
            "of SQLite in the collection's folder"
        )
    return url


def _engine(url: str) -> Engine:
    parsed = make_url(check_url(url))
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    # Errors of a database name the values of a statement, and these may be a report: never shown.
    options: dict[str, Any] = {"hide_parameters": True}
    if parsed.get_backend_name() == "sqlite":
        # A file that is not there is never made: it was moved.
        parsed = parsed.set(database=f"file:{quote(parsed.database or '')}").update_query_dict(
            {"mode": "rw", "uri": "true"}
        )
        options["connect_args"] = {"timeout": PATIENCE, "check_same_thread": False}
    else:
        options["pool_pre_ping"] = True
    try:
        engine = create_engine(parsed, **options)
    except (NoSuchModuleError, ImportError) as error:
        raise InputError(f"the database needs a driver ({error}): pip install 'graphveil[collect]'") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """A log that is synced at every commit; deleted content is overwritten."""
    # Transactions begin where `_begin_sqlite` says so, and not where the driver guesses.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction, immediately if it will write: two that have read could not both go on."""
    writing = connection.get_execution_options().get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    """A commit waits for the disk, whatever the server's settings are."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    connection.commit()


def _log(file: str) -> str:
    return f"{file}-wal"


def _identity(file: str) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path; None where there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_temporary(error: Exception) -> bool:
    """Return whether connections are still good after an error.

    After a full disk, for example, they are, and new ones could not even be made.
    """
    code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", None)
    if code is None or code in (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ):
        return isinstance(error, NoConnectionError)
    return code & 0xFF in PASSING


def _reason(error: Exception) -> str:
    """Return the reason of an error without showing any content.

    SQLite's messages about a damaged file may show content; its name for the error does not.
    """
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.Error | UnicodeDecodeError):
        return getattr(original, "sqlite_errorname", "it holds what cannot be read")
    return str(original).strip().splitlines()[0]


def lock_shared(connection: Connection) -> None:
    """In a writing transaction that adds reports: several may, but none while somebody has `lock_exclusively`."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE reports IN ROW EXCLUSIVE MODE")


def lock_exclusively(connection: Connection) -> None:
    """In a writing transaction that closes a round or deletes reports: what is being added is waited for, nothing is added after.

    A writer of SQLite is always alone.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE reports IN EXCLUSIVE MODE")


def note_deletion(connection: Connection) -> None:
    """In a writing transaction that deletes: have the file of SQLite overwritten at the next `Database.wipe`, by whichever process.

    The number that SQLite keeps for an application counts up. It is odd after a deletion, even after a wipe, and 0 where nobody knows.
    """
    if connection.dialect.name == "sqlite":
        before = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        connection.exec_driver_sql(f"PRAGMA user_version = {before + 1 + before % 2}")


def _deletions(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _rebuild(connection: sqlite3.Connection) -> bool:
    """Write the file anew; False where others have written to it all the time."""
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return False
        raise StoreError(
            f"what was deleted could not be overwritten in the database's file yet ({_reason(error)}): writing it anew takes as much space again, in its "
            "folder and in that for temporary files ($SQLITE_TMPDIR, else /var/tmp); make room, then run the same again; `graphveil collect serve` tries every hour"
        ) from error
    return True


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file; False where somebody has read an older state all the time."""
    deadline = time.monotonic() + PATIENCE
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * min(BRIEFLY, PATIENCE))}")
    try:
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                return False
            time.sleep(min(BRIEFLY, PATIENCE))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")
    return True
