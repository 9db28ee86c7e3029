"""Group commit: one transaction for all that wait, and nobody is told before it is on the disk."""

import asyncio
import threading

import pytest

from graphveil.collect.storage import open_collection
from graphveil.collect.writer import Arrival, ArrivalOutcome, Writer
from graphveil.errors import StoreError
from tests.collect.small import PLAN, enrolled, later, made, messages, report_id
from tests.collect.syncs import counted_syncs

USERS = 40


@pytest.fixture
def collection(tmp_path):
    opened = made(tmp_path / "c", USERS)
    enrolled(opened)
    opened.publish(PLAN, later())
    yield opened
    opened.database.close()


def written(collection, work, told=lambda count, seconds: None):
    """What a coroutine of a writer gives, which is stopped then."""

    async def run():
        writer = Writer(collection.database, told)
        try:
            return await work(writer)
        finally:
            writer.stop()

    return asyncio.run(run())


@pytest.fixture
def arrivals(collection):
    sent = messages(collection.round(1), range(USERS))
    return [Arrival(1, node, report_id(1, node), sent[node]) for node in range(USERS)]


def test_nobody_is_told_before_the_commit_and_all_share_few(collection, arrivals, monkeypatch):
    gate, commits = threading.Event(), []
    dialect = collection.database.engine.dialect
    commit = dialect.do_commit

    def waiting(connection):
        gate.wait()
        commits.append(1)
        commit(connection)

    monkeypatch.setattr(dialect, "do_commit", waiting)
    other = open_collection(collection.folder)

    async def run(writer):
        told = [asyncio.create_task(writer.store(arrival)) for arrival in arrivals]
        await asyncio.sleep(0.2)
        early = [task.done() for task in told]
        seen = other.round(1).answered
        gate.set()
        outcomes = await asyncio.gather(*told)
        return early, seen, outcomes

    early, seen, outcomes = written(collection, run)
    assert not any(early) and seen == 0
    assert outcomes == [ArrivalOutcome.STORED] * USERS
    assert len(commits) == 1
    assert other.round(1).answered == USERS
    other.database.close()


def test_every_acknowledgement_comes_after_a_sync_of_its_own_commit(collection, arrivals):
    events = []
    collection.database.close()

    async def run(writer):
        async def sender(share):
            for arrival in share:
                await writer.store(arrival)
                events.append(("told", arrival.node))

        await asyncio.gather(*(sender(arrivals[place::8]) for place in range(8)))

    with counted_syncs(lambda: events.append(("sync", None))):
        written(collection, run, lambda count, seconds: events.append(("commit", count)))
        collection.database.close()
    durable = told = synced = 0
    for kind, count in events:
        synced += kind == "sync"
        if kind == "commit":
            assert synced > 0, "a commit without a sync"
            durable, synced = durable + count, 0
        told += kind == "told"
        assert told <= durable, "somebody was told too early"
    commits = [count for kind, count in events if kind == "commit"]
    assert sum(commits) == told == USERS
    # Eight at a time wait for the same sync.
    assert len(commits) <= USERS // 8 + 3


def test_a_commit_that_fails_is_told_to_all_who_wait(collection, arrivals, monkeypatch):
    def fails(connection):
        raise StoreError("the disk is full")

    monkeypatch.setattr("graphveil.collect.writer.store", lambda connection, **batch: fails(connection))

    async def run(writer):
        return await asyncio.gather(*(writer.store(each) for each in arrivals[:3]), return_exceptions=True)

    assert [str(error) for error in written(collection, run)] == ["the disk is full"] * 3
    assert collection.round(1).answered == 0


def test_a_sender_who_has_gone_does_not_disturb_the_others(collection, arrivals):
    async def run(writer):
        gone, stays = (asyncio.create_task(writer.store(each)) for each in arrivals[:2])
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert written(collection, run) is ArrivalOutcome.STORED
    assert collection.round(1).answered == 2


def test_copies_in_one_commit_are_one_report(collection, arrivals):
    async def run(writer):
        return await asyncio.gather(*(writer.store(arrivals[0]) for _ in range(10)))

    assert written(collection, run) == [ArrivalOutcome.STORED] + [ArrivalOutcome.AGAIN] * 9


def test_as_many_as_shared_the_last_commit_are_waited_for_and_one_alone_waits_for_nobody(
    collection, arrivals
):
    shared = []

    async def run(writer):
        slept = []
        sleep = asyncio.sleep

        async def counted(seconds, *rest):
            slept.append(seconds)
            await sleep(seconds, *rest)

        asyncio.sleep = counted
        try:
            await writer.store(arrivals[0])
            alone = len(slept)
            await asyncio.gather(*(writer.store(each) for each in arrivals[1:5]))
            # The fourth of these comes late, as if it were slower than the others.
            early = [asyncio.create_task(writer.store(each)) for each in arrivals[5:8]]
            await sleep(0)
            late = asyncio.create_task(writer.store(arrivals[8]))
            await asyncio.gather(*early, late)
        finally:
            asyncio.sleep = sleep
        return alone

    assert written(collection, run, lambda count, seconds: shared.append(count)) == 0
    assert shared == [1, 4, 4]
