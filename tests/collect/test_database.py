"""Databases: what migrations make is what the tables say; what is committed is synced."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as NoConnectionError

from graphveil.collect.database import Database, check_url
from graphveil.collect.schema import METADATA
from graphveil.errors import InputError, StoreError


@pytest.fixture
def opened(tmp_path, database):
    made = Database(database or f"sqlite:///{tmp_path / 'c.sqlite'}")
    made.migrate()
    yield made
    made.close()


def test_migrations_make_the_tables_of_the_schema(opened):
    with opened.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_migrating_again_changes_nothing(opened):
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


def test_the_first_layout_is_brought_up_to_date_and_keeps_what_it_holds(opened):
    with opened.writing() as connection:
        connection.execute(text("DROP TABLE operators"))
        connection.execute(text("UPDATE alembic_version SET version_num = '1'"))
        connection.execute(text("INSERT INTO collection VALUES ('a', 'b')"))
    opened.migrate()
    opened.check()
    with opened.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert connection.execute(text("SELECT purpose FROM collection")).scalar() == "b"


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


def test_what_fails_in_between_has_never_been(opened):
    with pytest.raises(RuntimeError), opened.writing() as connection:
        connection.execute(text("INSERT INTO collection VALUES ('a', 'b')"))
        raise RuntimeError
    with opened.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM collection")).scalar() == 0


def test_an_error_of_the_database_shows_no_value(opened):
    with pytest.raises(Exception) as error, opened.writing() as connection:
        for _ in range(2):
            connection.execute(text("INSERT INTO collection VALUES (:id, 'x')"), {"id": "a private value"})
    assert "parameters hidden" in str(error.value)


def test_an_empty_database_holds_no_collection(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'empty.sqlite'}")
    with pytest.raises(StoreError, match="holds no collection"):
        made.check()
    made.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "nothing", ""])
def test_other_databases_are_refused(url):
    with pytest.raises(InputError, match="PostgreSQL"):
        check_url(url)


def test_no_free_connection_is_said_and_may_pass(tmp_path, monkeypatch):
    database = Database(f"sqlite:///{tmp_path / 'c.sqlite'}")

    def busy():
        raise NoConnectionError("QueuePool limit of size 5 overflow 10 reached")

    monkeypatch.setattr(database.engine, "connect", busy)
    with pytest.raises(StoreError, match="cannot be used"), database.reading():
        pass
    database.close()
