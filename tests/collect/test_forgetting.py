"""What was deleted is nowhere in the files of the database: not in free pages, not in free parts of pages, not in the log."""

import asyncio
import random
import threading
import time
from pathlib import Path

import pytest
from pyarrow import parquet
from sqlalchemy import insert, select, text, update

from graphveil.cli import status
from graphveil.collect import database, roster
from graphveil.collect.export import export
from graphveil.collect.schema import REPORTS, ROSTER, ROUNDS, ROWS
from graphveil.collect.storage import open_collection
from graphveil.collect.writer import Arrival, store, store_row
from graphveil.errors import StoreError
from graphveil.privacy.credential import credential_hash, new_credential
from tests.client.support import fast_folder
from tests.collect.small import PLAN, bearer, enrolled, files_no_larger_than, made, served
from tests.together import each

USERS, ROUNDS_MADE, GONE = 60, 20, 30
# Of each user the roster knows a credential, a token (both hashed) and a pseudonym.
KNOWN = 3


def filled(folder, seed, **settings):
    """A collection with random reports and rows of everybody, in a random order, some of whom go; and what there is of each user."""
    draw = random.Random(seed)
    collection = made(folder, USERS, **settings)
    enrolled(collection, volunteer=True)
    with collection.database.reading() as connection:
        rows = connection.execute(text("SELECT node, credential, token, pseudonym FROM roster")).all()
    content = {node: [*known, draw.randbytes(64)] for node, *known in rows}
    arrivals = []
    for number in range(1, ROUNDS_MADE + 1):
        for node in range(USERS):
            fresh = Arrival(number, node, draw.randbytes(16), draw.randbytes(draw.randrange(40, 120)))
            content[node] += [fresh.report, fresh.message]
            arrivals.append(fresh)
    draw.shuffle(arrivals)
    with collection.database.writing() as connection:
        rounds = [{**ROUND, "number": number} for number in range(1, ROUNDS_MADE + 1)]
        connection.execute(insert(ROUNDS), rounds)
        for node in range(USERS):
            store_row(connection, node, content[node][KNOWN])
    for start in range(0, len(arrivals), 40):
        with collection.database.writing() as connection:
            store(connection, arrivals[start : start + 40])
    return collection, content, draw.sample(range(USERS), GONE)


ROUND = {
    "plan": PLAN.to_json().encode(),
    "digest": "",
    "study": "",
    "asked": b"",
    "graph": 1,
    "published": 0,
    "expires": int(time.time()) + 1000,
    "closed": False,
    "deleted": 0,
}


def forget_all(collection, nodes):
    with collection.database.writing() as connection:
        for node in nodes:
            roster.forget(connection, node)


def found(collection, content, nodes):
    """What of these users stands in the files, byte for byte."""
    whole = b"\n".join(file.read_bytes() for file in sorted(collection.folder.glob("collection.sqlite*")))
    return [each for node in nodes for each in content[node] if each in whole]


def check_forgotten(seed):
    with fast_folder() as name:
        collection, content, gone = filled(Path(name) / "c", seed)
        assert len(found(collection, content, gone)) == GONE * (KNOWN + 1 + 2 * ROUNDS_MADE)
        forget_all(collection, gone[1:])
        collection.forget(gone[0])
        assert found(collection, content, gone) == []
        left = sorted(set(range(USERS)) - set(gone))
        assert len(found(collection, content, left)) == len(left) * (KNOWN + 1 + 2 * ROUNDS_MADE)
        collection.database.close()


def test_nothing_of_whoever_was_forgotten_is_left_in_the_files():
    """One order in five leaves copies in pages that became free, if the file is not rebuilt."""
    each(range(10), check_forgotten)


def test_of_somebody_forgotten_the_roster_has_the_id_and_that_mark_alone(collection, tmp_path):
    def row():
        with collection.database.reading() as connection:
            return connection.execute(select(ROSTER).where(ROSTER.c.node == 1)).one()._asdict()

    enrolled(collection)
    before = row()
    collection.forget(1)
    after = row()
    drawn = {name: after.pop(name) for name in ("pseudonym", "token")}
    assert all(len(each) == len(before[name]) and each not in before.values() for name, each in drawn.items())
    stays = {"node": 1, "external": "p1", "redeemed": False, "derived": False, "forgotten": True}
    assert after == dict.fromkeys(after) | stays
    # Nobody invites them by mistake, and exported tables have no pseudonym of theirs.
    assert collection.invite(again=["p1"]) == []
    export(collection, tmp_path / "tables")
    table = parquet.read_table(tmp_path / "tables" / "roster.parquet").to_pylist()
    assert [row["node"] for row in table if row["pseudonym"] is None] == [1] and len(table) == 12


def test_nothing_that_has_expired_is_left_in_the_files():
    with fast_folder() as name:
        collection, content, gone = filled(Path(name) / "c", 7, retention=30)
        with collection.database.writing() as connection:
            for table in (REPORTS, ROWS):
                connection.execute(update(table).where(table.c.node.in_(gone)).values(day=0))
        assert status(["collect", "status", str(collection.folder), "--expire"]) == 0
        assert collection.counts()["reports"] == (USERS - GONE) * ROUNDS_MADE
        # An enrolment does not expire.
        deleted = {node: content[node][KNOWN:] for node in gone}
        assert found(collection, deleted, gone) == []
        with collection.database.reading() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        collection.database.close()


def deletions(collection):
    with collection.database.reading() as connection:
        return connection.execute(text("PRAGMA user_version")).scalar()


def test_a_disk_without_room_for_the_rebuilt_file_is_said_and_it_is_tried_again(tmp_path):
    collection, content, gone = filled(tmp_path / "c", 2)
    forget_all(collection, gone)
    collection.database.close()
    half = (collection.folder / "collection.sqlite").stat().st_size // 2
    with files_no_larger_than(half), pytest.raises(StoreError, match="takes as much space.*make room"):
        collection.database.wipe()
    assert deletions(collection) % 2 == 1
    assert collection.database.wipe() and found(collection, content, gone) == []
    collection.database.close()


def test_a_file_is_rebuilt_only_after_something_was_deleted(tmp_path):
    collection, *_ = filled(tmp_path / "c", 0)
    assert collection.database.wipe() and deletions(collection) == 2
    file = collection.folder / "collection.sqlite"
    collection.database.close()
    before = file.stat().st_mtime_ns
    assert collection.database.wipe()
    collection.database.close()
    assert file.stat().st_mtime_ns == before
    collection.forget(1)
    assert deletions(collection) == 4
    collection.database.close()


def test_a_deletion_while_the_file_is_rebuilt_has_it_rebuilt_again(tmp_path, monkeypatch):
    collection, content, gone = filled(tmp_path / "c", 2)
    other = open_collection(collection.folder)
    rebuilt = database._rebuild

    def and_then(connection):
        done = rebuilt(connection)
        forget_all(other, gone)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(database, "_rebuild", and_then)
        assert collection.database.wipe()
    assert deletions(collection) % 2 == 1
    # Whichever process comes next.
    assert other.database.wipe() and found(collection, content, gone) == []
    for opened in (collection, other):
        opened.database.close()


def test_whoever_asks_to_be_forgotten_is_answered_before_the_file_is_rebuilt(tmp_path, monkeypatch):
    collection, content, gone = filled(tmp_path / "c", 2)
    credentials = {node: new_credential() for node in gone}
    with collection.database.writing() as connection:
        for node, own in credentials.items():
            content[node][0] = credential_hash(own)
            connection.execute(
                update(ROSTER).where(ROSTER.c.node == node).values(credential=content[node][0])
            )
    monkeypatch.setattr("graphveil.collect.service.SOON", 0.05)
    monkeypatch.setattr("graphveil.collect.service.REST", 0)
    wipe, gate, wiped = collection.database.wipe, threading.Event(), []

    def after_the_gate():
        gate.wait()
        wiped.append(wipe())
        return wiped[-1]

    async def until(reached):
        for _ in range(1000):
            if reached():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it was never done")

    async def run(client):
        # The one at the start has nothing to overwrite.
        await until(lambda: wiped == [True])
        gate.clear()
        for node in gone:
            answer = await client.delete("/v1/me", headers=bearer(credentials[node]))
            assert answer.status_code == 204 and len(wiped) == 1
        gate.set()
        await until(lambda: not found(collection, content, gone))

    monkeypatch.setattr(collection.database, "wipe", after_the_gate)
    gate.set()
    served(collection, run)
    # Those who go at about one time share a rebuilt file.
    assert len(wiped) <= 3
    collection.database.close()
