"""What devices look up: how the key has passed on, and the numbers of people, where these are asked for their links."""

import pytest
from sqlalchemy import text

from graphveil.privacy import SignedSuccession
from graphveil.privacy.people import people_digests
from tests.collect.small import PLAN, arrived, bearer, enrolled, later, made, people, report_id, served


def looked_up(collection, *headers):
    async def run(client):
        return [await client.get("/v1/people", headers=each) for each in headers]

    return served(collection, run)


@pytest.fixture
def linked(tmp_path):
    opened = made(tmp_path / "c", private_links=True)
    yield opened
    opened.database.close()


def test_whoever_is_enrolled_gets_the_digests_of_everybody_and_of_those_who_come_later(linked):
    credentials = enrolled(linked)
    stranger, found = looked_up(linked, {}, bearer(credentials[3]))
    assert stranger.status_code == 401
    assert found.content == people_digests(linked.settings.id, [f"p{number}" for number in range(12)])
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["cache-control"] == "no-store"
    linked.add_graph(people(14))
    (after,) = looked_up(linked, bearer(credentials[0]))
    assert after.content.startswith(found.content) and len(after.content) == 14 * 16


def test_where_nobody_is_asked_for_links_there_is_nothing_to_look_up(local):
    credentials = enrolled(local)
    (answer,) = looked_up(local, bearer(credentials[0]))
    assert answer.status_code == 404 and "asks nobody for links" in answer.json()["detail"]


def test_anybody_may_look_up_how_the_key_has_passed_on(linked):
    async def run(client):
        before = await client.get("/v1/keys"), await client.get("/v1/collection")
        linked.rotate()
        return *before, await client.get("/v1/keys"), await client.get("/v1/collection")

    none, first, one, second = served(linked, run)
    assert none.json() == []
    assert [SignedSuccession.from_dict(each) for each in one.json()] == list(linked.successions)
    assert second.json()["key"] == linked.key.public.hex() != first.json()["key"]


def test_a_device_looks_up_how_many_answers_there_are_from_it(tmp_path, database):
    opened = made(tmp_path / "c", database=database, epsilon=9.0)
    credentials = enrolled(opened, epsilon=9.0)
    for number in (1, 2, 3):
        arrived(opened, opened.publish(PLAN.model_copy(update={"round": number}), later()), [1, 2][:number])
    with opened.database.writing() as connection:
        # Two rounds that ask a user the same have one answer, under one id.
        connection.execute(
            text("UPDATE reports SET report = :id WHERE node = 1 AND round < 3"), {"id": report_id(1, 1)}
        )

    async def run(client):
        headers = [bearer(credentials[node]) for node in (0, 1, 2, 3)]
        opened.forget(3)
        return [await client.get("/v1/me", headers=each) for each in ({}, *headers)]

    stranger, *told, forgotten = served(opened, run)
    assert stranger.status_code == forgotten.status_code == 401
    assert [each.json() for each in told] == [{"answered": number} for number in (0, 2, 2)]
    assert told[0].headers["cache-control"] == "no-store"
    opened.database.close()
