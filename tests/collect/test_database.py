"""Databases: what migrations make is what the tables say; what is committed is synced."""

import sqlite3

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import select, text
from sqlalchemy.exc import TimeoutError as NoConnectionError

from graphveil.collect.database import Database, check_url
from graphveil.collect.schema import METADATA, ROSTER
from graphveil.errors import InputError, StoreError


@pytest.fixture
def opened(tmp_path, database):
    (tmp_path / "c.sqlite").touch()
    made = Database(database or f"sqlite:///{tmp_path / 'c.sqlite'}")
    made.migrate()
    yield made
    made.close()


def test_migrations_make_the_tables_of_the_schema_and_again_change_nothing(opened):
    with opened.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    opened.migrate()
    opened.check()


@pytest.mark.parametrize(
    ("layout", "said"), [("99", "update graphveil, then run"), ("1", r"reads \d+: run `graphveil collect")]
)
def test_another_layout_is_refused(opened, layout, said):
    with opened.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :layout"), {"layout": layout})
    with pytest.raises(StoreError, match=f"layout {layout}.*{said}"):
        opened.check()


@pytest.mark.parametrize("layout", [1, 2])
def test_an_earlier_layout_is_brought_up_to_date_and_keeps_what_it_holds(opened, layout):
    columns = "node, external, pseudonym, token, credential, forgotten"
    with opened.writing() as connection:
        for column in ("redeemed", "derived"):
            connection.execute(text(f"ALTER TABLE roster DROP COLUMN {column}"))
        if layout == 1:
            connection.execute(text("DROP TABLE operators"))
        connection.execute(text("UPDATE alembic_version SET version_num = :layout"), {"layout": str(layout)})
        connection.execute(text("INSERT INTO collection VALUES ('a', 'b')"))
        for node, credential in enumerate([b"made by the collector", None, None]):
            told = {"node": node, "name": str(node), "bytes": bytes([node] * 16), "credential": credential}
            told["forgotten"] = node == 2
            words = f"INSERT INTO roster ({columns}) VALUES (:node, :name, :bytes, :bytes, :credential, :forgotten)"
            connection.execute(text(words), told)
    opened.migrate()
    opened.check()
    with opened.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert connection.execute(text("SELECT purpose FROM collection")).scalar() == "b"
        chosen = select(ROSTER.c.credential, ROSTER.c.redeemed, ROSTER.c.derived).order_by(ROSTER.c.node)
        rows = [tuple(row) for row in connection.execute(chosen)]
        known = [tuple(row) for row in connection.execute(select(ROSTER.c.pseudonym, ROSTER.c.token))]
    assert rows == [(b"made by the collector", True, True), (None, False, False), (None, False, False)]
    # Those who were forgotten before are named by nothing but their id any more.
    assert known[:2] == [(bytes([node] * 16),) * 2 for node in range(2)] and bytes([2] * 16) not in known[2]


def test_a_commit_waits_for_the_disk(opened):
    with opened.reading() as connection:
        if opened.is_sqlite:
            values = [
                connection.execute(text(f"PRAGMA {name}")).scalar()
                for name in ("journal_mode", "synchronous", "secure_delete")
            ]
            assert values == ["wal", 2, 1]
        else:
            values = [
                connection.execute(text(f"SHOW {name}")).scalar() for name in ("synchronous_commit", "fsync")
            ]
            assert values == ["on", "on"]


def test_what_fails_has_never_been_and_shows_no_value(opened):
    with pytest.raises(RuntimeError), opened.writing() as connection:
        connection.execute(text("INSERT INTO collection VALUES ('a', 'b')"))
        raise RuntimeError
    with opened.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM collection")).scalar() == 0
    with pytest.raises(Exception) as error, opened.writing() as connection:
        for _ in range(2):
            connection.execute(text("INSERT INTO collection VALUES (:id, 'x')"), {"id": "a private value"})
    assert "parameters hidden" in str(error.value)


def test_an_empty_database_holds_no_collection(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    made = Database(f"sqlite:///{tmp_path / 'empty.sqlite'}")
    with pytest.raises(StoreError, match="holds no collection"):
        made.check()
    made.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "nothing", ""])
def test_other_databases_are_refused(url):
    with pytest.raises(InputError, match="PostgreSQL"):
        check_url(url)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_value_that_cannot_be_read_is_not_shown(opened):
    with opened.writing() as connection:
        connection.execute(text("INSERT INTO collection VALUES ('a', CAST(x'70726976617465ff' AS TEXT))"))
    with pytest.raises(StoreError, match="cannot be used") as caught, opened.reading() as connection:
        connection.execute(text("SELECT purpose FROM collection")).all()
    assert "private" not in str(caught.value)


def test_after_a_failure_no_connection_from_before_is_used_again(opened):
    with opened.reading() as connection:
        before = connection.connection.driver_connection
        with pytest.raises(StoreError, match="cannot be used"), opened.reading() as other:
            other.execute(text("SELECT a FROM nowhere"))
        # Whoever is in the middle of something is not disturbed.
        assert connection.execute(text("SELECT count(*) FROM collection")).scalar() == 0
    if opened.is_sqlite:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            before.execute("SELECT 1")
    else:
        assert before.closed
    with opened.reading() as connection:
        assert connection.connection.driver_connection is not before


def test_no_free_connection_is_said_and_may_pass(tmp_path, monkeypatch):
    database = Database(f"sqlite:///{tmp_path / 'c.sqlite'}")

    def busy():
        raise NoConnectionError("QueuePool limit of size 5 overflow 10 reached")

    monkeypatch.setattr(database.engine, "connect", busy)
    with pytest.raises(StoreError, match="cannot be used"), database.reading():
        pass
    database.close()
