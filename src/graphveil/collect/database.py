"""Connections to a collection's database, SQLite or PostgreSQL: what is committed is on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from graphveil.errors import InputError, StoreError

# How long a writer waits for another one, in seconds.
PATIENCE = 30
WRITING = "graphveil_writing"
REVISION = "2"


class Database:
    """One engine; `reading` and `writing` are transactions."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with _told(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable when this ends, or has never been."""
        with _told(), self.engine.connect() as plain:
            connection = plain.execution_options(**{WRITING: True})
            with connection.begin():
                yield connection

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
        """Let go of what was deleted: SQLite has overwritten it in the file, its log still holds older pages.

        False where somebody has read the database all the time, so that the log is still needed: wipe again later.
        """
        if not self.is_sqlite:
            return True
        with _told(), self.engine.connect() as connection:
            busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
        return not busy

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


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
        options["connect_args"] = {"timeout": PATIENCE, "check_same_thread": False}
    else:
        options["pool_pre_ping"] = True
    try:
        engine = create_engine(parsed, **options)
    except (NoSuchModuleError, ImportError) as error:
        raise InputError(
            f"the database needs a driver that is not installed ({error}): pip install 'graphveil[collect]'"
        ) from None
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
    """Whoever will write says so at once: two who have read could not both go on."""
    writing = connection.get_execution_options().get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    """A commit waits for the disk, whatever the server's settings are."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    connection.commit()


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong with a database, in a sentence without any value."""
    try:
        yield
    except (OperationalError, NoConnectionError) as error:
        raise StoreError(
            f"the collection's database cannot be used ({_first_line(error)}): see that it runs, is not full, and may be "
            "written"
        ) from error


def _first_line(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def beside_others(connection: Connection) -> None:
    """In a writing transaction that adds reports: several may, but none while somebody is `alone`."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE reports IN ROW EXCLUSIVE MODE")


def alone(connection: Connection) -> None:
    """In a writing transaction that closes a round or deletes reports: what is being added is waited for, nothing is added after.

    A writer of SQLite is always alone.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE reports IN EXCLUSIVE MODE")
