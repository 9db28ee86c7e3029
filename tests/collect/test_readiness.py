"""A database that cannot be used: every call is answered by 503, the log has a line, and nothing needs a restart afterwards."""

import asyncio
import logging
import shutil
import sqlite3
import threading

import pytest
from sqlalchemy import text

from graphveil.collect import service
from graphveil.collect.keys import word
from graphveil.collect.roster import add_operator
from graphveil.collect.storage import open_collection
from graphveil.collect.writer import try_storing
from tests.collect.small import (
    DIMS,
    PLAN,
    address,
    bearer,
    enrolled,
    envelope,
    files_no_larger_than,
    later,
    made,
    people,
    served,
)

PROBLEM = "application/problem+json"
READY = ("GET", "/readyz", {})


@pytest.fixture
def collection(tmp_path, database, monkeypatch):
    # Every probe is an attempt of its own.
    monkeypatch.setattr(service, "PROBE", 0.0)
    opened = made(tmp_path / "c", database=database, private_links=True)
    yield opened
    opened.database.close()


@pytest.fixture
def local(tmp_path, monkeypatch):
    monkeypatch.setattr(service, "PROBE", 0.0)
    # Nobody else uses the file while it is replaced, or is the first to find a fault: the log gets one line a minute.
    monkeypatch.setattr(service.Service, "sweep", lambda _: asyncio.sleep(3600))
    opened = made(tmp_path / "c", private_links=True)
    yield opened
    opened.database.close()


def calls(collection):
    """A request for every route that reads the database alone, and one for every route that writes."""
    credentials = enrolled(collection, volunteer=True)
    collection.add_graph(people(13))
    (invited,) = collection.invite()
    with collection.database.writing() as connection:
        token = add_operator(connection, "ada")
    round = collection.publish(PLAN, later())
    own, operator = {"headers": bearer(credentials[1])}, {"headers": bearer(token)}
    reading = [
        *(("GET", path, own) for path in ("/v1/questions", "/v1/people", "/v1/me")),
        ("GET", "/v1/operator/status", operator),
    ]
    enrolment = {"token": word(invited.secret), "credential_hash": "ab" * 32, "cap": {"epsilon": 1.0}}
    writing = [
        READY,
        ("POST", "/v1/enrolment", {"json": enrolment}),
        ("PUT", address(round, 1), {**own, "content": envelope(collection, round, 1)}),
        ("PUT", "/v1/row", {**own, "json": {"values": [0.5] * DIMS}}),
        ("POST", "/v1/operator/rounds/1/close", operator),
        ("DELETE", "/v1/me", own),
    ]
    return reading, writing


async def statuses(client, requests):
    """What each request is answered by; a problem has the form of one, and shows nothing of the database."""
    answers = [await client.request(method, path, **given) for method, path, given in requests]
    for each in answers:
        if each.status_code >= 400:
            assert each.headers["content-type"] == PROBLEM and set(each.json()) >= {"title", "detail"}
            assert "SQL" not in each.text and "database" not in each.text
    return [each.status_code for each in answers]


def lines(caplog):
    """What was logged of warnings and errors, by anybody."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def check_log(caplog, said):
    (line,) = lines(caplog)
    assert said in line and "INSERT INTO" not in line and "parameters" not in line
    assert not any(record.exc_info for record in caplog.records)


FINE = [200, 201, 201, 201, 409, 204]


def test_a_full_disk_is_not_ready_until_there_is_room(local, caplog):
    reading, writing = calls(local)

    async def run(client):
        assert await statuses(client, [READY]) == [200]
        with files_no_larger_than(0):
            full = await statuses(client, [*reading, *writing])
        return full, await statuses(client, [*reading, *writing])

    full, room = served(local, run)
    # What can be read is read, and a round that nobody has answered is not closed.
    assert full == [200] * 4 + [503] * 4 + [409, 503] and room == [200] * 4 + FINE
    check_log(caplog, "cannot be used")


DAMAGES = {
    "all": lambda whole: b"\x5a" * len(whole),
    "pages": lambda whole: whole[:4096] + b"\x5a" * (len(whole) - 4096),
    "cut": lambda whole: whole[:4096],
    # SQLite's own message cannot be read then.
    "schema": lambda whole: whole.replace(b"CREATE TABLE", b"CREATE \xff\xa9BLE"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_told_by_503_and_a_restored_one_is_used_at_once(local, caplog, damage):
    reading, writing = calls(local)
    file = local.folder / "collection.sqlite"

    async def run(client):
        assert await statuses(client, [READY, *reading]) == [200] * 5
        local.database.close()
        shutil.copy(file, local.folder / "backup")
        file.write_bytes(damage(file.read_bytes()))
        broken = await statuses(client, [*reading, *writing] * 2)
        shutil.copy(local.folder / "backup", file)
        for name in ("-wal", "-shm"):
            file.with_name(file.name + name).unlink(missing_ok=True)
        return broken, await statuses(client, [*reading, *writing])

    broken, restored = served(local, run)
    assert broken == [503] * 20 and restored == [200] * 4 + FINE
    check_log(caplog, "cannot be used")


def move(source, target):
    """Move a database's file with its log."""
    for each in list(source.glob("collection.sqlite*")):
        each.rename(target / each.name)


def test_nothing_is_acknowledged_while_the_file_is_elsewhere(local, tmp_path, caplog):
    credentials, round = enrolled(local), local.publish(PLAN, later())
    uploads = [
        ("PUT", address(round, node), {"headers": bearer(own), "content": envelope(local, round, node)})
        for node, own in credentials.items()
    ]
    away, other = tmp_path / "away", made(tmp_path / "other")
    enrolled(other)
    other.database.close()
    away.mkdir()

    async def run(client):
        assert await statuses(client, [uploads[0], READY]) == [201, 200]
        move(local.folder, away)
        gone = await statuses(client, [uploads[1], READY, READY])
        assert not list(local.folder.glob("collection.sqlite*"))
        move(other.folder, local.folder)
        others = await statuses(client, [uploads[1], READY])
        move(local.folder, other.folder)
        move(away, local.folder)
        return gone, others, await statuses(client, [*uploads[:2], READY])

    gone, others, back = served(local, run)
    # What was written before the move was noticed may be there; it was not acknowledged.
    assert gone == [503] * 3 and others == [503] * 2 and back in ([200, 201, 200], [200, 200, 200])
    check_log(caplog, "moved")
    with sqlite3.connect(other.folder / "collection.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM reports").fetchone() == (0,)


def test_rounds_that_a_restored_backup_does_not_have_are_not_remembered(local, tmp_path):
    own = enrolled(local)[1]
    local.database.close()
    shutil.copy(local.folder / "collection.sqlite", tmp_path / "backup")
    round = local.publish(PLAN, later())
    upload = ("PUT", address(round, 1), {"headers": bearer(own), "content": envelope(local, round, 1)})

    async def run(client):
        assert await statuses(client, [upload]) == [201]
        move(local.folder, tmp_path)
        (tmp_path / "backup").rename(local.folder / "collection.sqlite")
        return await statuses(client, [READY, upload])

    assert served(local, run) == [503, 404]


@pytest.mark.parametrize("name", ["collection.sqlite", "collection.sqlite-wal"])
def test_a_file_or_log_that_was_replaced_is_noticed_before_anything_is_acknowledged(local, name):
    local.database.close()
    file = local.folder / name

    async def run(client):
        assert await statuses(client, [READY]) == [200]
        copied = file.with_name("copy")
        shutil.copy(file, copied)
        copied.replace(file)
        return await statuses(client, [READY, READY])

    assert served(local, run) == [503, 200]


def test_damage_in_any_table_or_index_that_an_upload_needs_is_not_ready(local):
    calls(local)
    file = local.folder / "collection.sqlite"
    with local.database.reading() as connection:
        words = "SELECT name, rootpage FROM sqlite_master WHERE tbl_name IN ('roster', 'rounds', 'reports', 'rows') AND rootpage > 0"
        roots = dict(connection.execute(text(words)).all())
    # Four tables, four indexes of the roster and two of the reports.
    assert len(roots) == 10
    local.database.close()
    whole = file.read_bytes()

    async def run(client):
        told = {}
        for name, root in roots.items():
            local.database.close()
            file.write_bytes(whole[: 4096 * (root - 1)] + b"\x5a" * 4096 + whole[4096 * root :])
            (told[name],) = await statuses(client, [READY])
        local.database.close()
        file.write_bytes(whole)
        return told, await statuses(client, [READY])

    told, restored = served(local, run)
    assert told == dict.fromkeys(roots, 503) and restored == [200]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_postgresql_without_a_table_or_its_schema_is_told_by_503(collection, caplog):
    reading, writing = calls(collection)

    def run_sql(words):
        with collection.database.engine.begin() as connection:
            connection.execute(text(words))

    async def run(client):
        run_sql("ALTER TABLE reports RENAME TO away")
        table = await statuses(client, [READY, writing[2]])
        run_sql("ALTER TABLE away RENAME TO reports")
        run_sql("ALTER SCHEMA public RENAME TO away")
        schema = await statuses(client, [*reading, *writing])
        run_sql("ALTER SCHEMA away RENAME TO public")
        return table, schema, await statuses(client, [*reading, *writing])

    table, schema, back = served(collection, run)
    assert table == [503] * 2 and schema == [503] * 10 and back == [200] * 4 + FINE
    check_log(caplog, "does not exist")


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_postgresql_that_only_reads_is_told_by_503_until_it_writes_again(collection, caplog):
    reading, writing = calls(collection)

    def only_reads(switch):
        with collection.database.engine.connect() as plain:
            connection = plain.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("SET default_transaction_read_only = off"))
            connection.execute(text(f"ALTER ROLE CURRENT_USER SET default_transaction_read_only = {switch}"))
        # As a failover does.
        collection.database.close()

    async def run(client):
        only_reads("on")
        standby = await statuses(client, [*reading, *writing])
        only_reads("off")
        return standby, await statuses(client, [*reading, *writing])

    try:
        standby, back = served(collection, run)
    finally:
        only_reads("off")
    assert standby == [200] * 4 + [503] * 4 + [409, 503]
    assert back == [200] * 4 + FINE
    check_log(caplog, "read-only")


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_postgresql_whose_connections_are_cut_is_used_by_new_ones(collection, caplog):

    def cut():
        with collection.database.engine.connect() as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
            connection.execute(text(others))

    async def run(client):
        assert await statuses(client, [READY]) == [200]
        cut()
        return await statuses(client, [READY])

    assert served(collection, run) == [200] and not lines(caplog)


def test_many_probes_at_once_are_one_attempt_that_leaves_nothing(collection, monkeypatch):
    monkeypatch.setattr(service, "PROBE", 60.0)
    attempts = []
    monkeypatch.setattr(service, "try_storing", lambda c: attempts.append(1) or try_storing(c))
    before = collection.actions()

    async def run(client):
        together = await asyncio.gather(*(client.get("/readyz") for _ in range(50)))
        return [each.status_code for each in (*together, await client.get("/readyz"))]

    assert served(collection, run) == [200] * 51 and len(attempts) == 1
    assert collection.actions() == before


def test_a_failed_attempt_is_told_to_all_and_the_next_one_counts(local, monkeypatch):
    monkeypatch.setattr(service, "PROBE", 60.0)

    async def run(client):
        with files_no_larger_than(0):
            together = await asyncio.gather(*(client.get("/readyz") for _ in range(5)))
        shared = await client.get("/readyz")
        monkeypatch.setattr(service, "PROBE", 0.0)
        return [each.status_code for each in (*together, shared, await client.get("/readyz"))]

    assert served(local, run) == [503] * 6 + [200]


def test_a_request_that_failed_ends_what_an_earlier_probe_has_said(local, monkeypatch):
    monkeypatch.setattr(service, "PROBE", 60.0)
    upload = calls(local)[1][2]

    async def run(client):
        before = await statuses(client, [READY])
        with files_no_larger_than(0):
            return before + await statuses(client, [upload, READY])

    assert served(local, run) == [200, 503, 503]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_servers_of_one_postgresql_do_not_wait_for_each_others_probes(collection):
    other = open_collection(collection.folder)
    done = threading.Event()

    def probe():
        with other.database.writing() as connection:
            try_storing(connection)
        done.set()

    with collection.database.writing() as connection:
        try_storing(connection)
        thread = threading.Thread(target=probe)
        thread.start()
        assert done.wait(20)
    thread.join()
    other.database.close()
