"""Members are looked up together, and as the database has them at that time."""

import asyncio

import pytest

from graphveil.collect import service
from graphveil.collect.service import Members
from graphveil.errors import StoreError
from tests.collect.small import enrolled


def test_many_are_found_by_few_queries(collection, monkeypatch):
    credentials, asked, find = enrolled(collection), [], service.find_members
    monkeypatch.setattr(
        service, "find_members", lambda opened, hashes: asked.append(len(hashes)) or find(opened, hashes)
    )
    wanted = [*credentials.values(), "A" * 43, *credentials.values()]

    async def run():
        known = Members(collection.database)
        return await asyncio.gather(*(known.find(each) for each in wanted))

    found = asyncio.run(run())
    nodes = [None if each is None else each.node for each in found]
    assert nodes == [*range(12), None, *range(12)]
    assert [each.pseudonym for each in found[:12]] == list(collection.roster().pseudonym)
    assert asked == [13]


def test_what_has_another_form_is_not_looked_up(local, monkeypatch):
    monkeypatch.setattr(service, "find_members", lambda *_: pytest.fail("looked up"))

    async def run():
        known = Members(local.database)
        wrong = ("", "x", "A" * 42, "A" * 44, "A" * 70, "\xe4" * 43, "A" * 43 + "\n", " " + "A" * 42)
        return [await known.find(each) for each in wrong]

    assert asyncio.run(run()) == [None] * 8


def test_nobody_is_remembered(local):
    credentials = enrolled(local)

    async def run():
        known = Members(local.database)
        before = await known.find(credentials[3])
        local.forget(3)
        return before, await known.find(credentials[3])

    before, after = asyncio.run(run())
    assert before.node == 3 and after is None


def test_a_database_that_fails_is_said_to_all_who_wait_and_tried_again(local, monkeypatch):
    credentials, find, tries = enrolled(local), service.find_members, []

    def failing_once(*told):
        tries.append(told)
        if len(tries) == 1:
            raise StoreError("the disk is away")
        return find(*told)

    monkeypatch.setattr(service, "find_members", failing_once)

    async def run():
        known = Members(local.database)
        sent = (known.find(credentials[node]) for node in (1, 2))
        failed = await asyncio.gather(*sent, return_exceptions=True)
        return failed, await known.find(credentials[1])

    failed, found = asyncio.run(run())
    assert [type(each) for each in failed] == [StoreError, StoreError] and found.node == 1


def test_a_sender_who_has_gone_keeps_nobody_waiting(local):
    credentials = enrolled(local)

    async def run():
        known = Members(local.database)
        gone = asyncio.ensure_future(known.find(credentials[1]))
        stays = asyncio.ensure_future(known.find(credentials[2]))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert asyncio.run(run()).node == 2
