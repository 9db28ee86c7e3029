"""Operators over HTTP: a token each, of which only the hash is stored, for the status of a collection and for closing rounds."""

import pytest
from sqlalchemy import select

from graphveil.collect.roster import add_operator, read_operators, revoke_operator
from graphveil.collect.schema import OPERATORS
from graphveil.errors import InputError
from tests.collect.small import PLAN, arrived, bearer, enrolled, later, served
from tests.together import each

STATUS, CLOSE = "/v1/operator/status", "/v1/operator/rounds/{}/close"


def added(collection, name="ada"):
    with collection.database.writing() as connection:
        return add_operator(connection, name)


def exchange(collection, *requests):
    """Answers to (method, path, headers), one after the other."""

    async def run(client):
        return [await client.request(method, path, headers=headers) for method, path, headers in requests]

    return served(collection, run)


def test_the_status_is_for_operators_alone_and_names_nobody(collection):
    credentials, token = enrolled(collection), added(collection)
    strangers = ({}, bearer(credentials[0]), bearer(token[:-1]), bearer(""), {"Authorization": token})
    asked = [("GET", STATUS, headers) for headers in (*strangers, bearer(token))]
    *refused, told = exchange(collection, *asked)
    assert [each.status_code for each in refused] == [401] * len(strangers)
    assert all("operator's token" in each.json()["detail"] for each in refused)
    assert told.status_code == 200 and told.headers["cache-control"] == "no-store"
    assert told.json()["enrolled"] == 12 and told.json()["rounds"] == []
    # It names nobody.
    assert not any(f'"p{number}"' in told.text for number in range(12))
    assert not any(each.hex() in told.text for each in collection.roster().pseudonym)


def test_an_operator_is_no_device_and_a_device_no_operator(collection):
    credentials, token = enrolled(collection), added(collection)
    published = collection.publish(PLAN, later())
    close = CLOSE.format(published.number)
    answers = exchange(
        collection, ("GET", "/v1/questions", bearer(token)), ("POST", close, bearer(credentials[0]))
    )
    assert [each.status_code for each in answers] == [401, 401]
    assert not collection.round(published.number).closed


def test_a_round_is_closed_once_enough_have_answered_and_closing_again_is_the_same(collection):
    enrolled(collection)
    token, published = added(collection), collection.publish(PLAN, later())
    request = ("POST", CLOSE.format(published.number), bearer(token))
    arrived(collection, published, range(11))
    (early,) = exchange(collection, request)
    assert early.status_code == 409 and "read from 12 on" in early.json()["detail"]
    arrived(collection, published, [11])
    first, again = exchange(collection, request, request)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == {"round": published.number, "asked": 12, "answered": 12}
    assert collection.round(published.number).closed


def test_only_rounds_that_are_there_are_closed(local):
    expected = {"7": 404, "0": 422, "x": 422, "1" * 9: 422}
    headers = bearer(added(local))
    answers = exchange(local, *(("POST", CLOSE.format(number), headers) for number in expected))
    found = [each.status_code for each in answers]
    assert dict(zip(expected, found, strict=True)) == expected


def test_a_token_that_was_taken_back_works_no_more(collection):
    ada, bob = added(collection), added(collection, "bob")
    with collection.database.writing() as connection:
        revoke_operator(connection, "ada")
        assert read_operators(connection) == ["bob"]
    answers = exchange(collection, ("GET", STATUS, bearer(ada)), ("GET", STATUS, bearer(bob)))
    assert [each.status_code for each in answers] == [401, 200]


def test_a_token_is_not_stored_and_what_was_done_names_nobody(collection):
    token = added(collection)
    with collection.database.reading() as connection:
        (row,) = connection.execute(select(OPERATORS)).all()
    assert token.encode() not in bytes(row.token) and len(bytes(row.token)) == 32
    assert ("operator", "1 token made") in [each[1:] for each in collection.actions()]
    assert not any("ada" in detail for _, _, detail in collection.actions())


def test_a_name_that_cannot_be_one_or_has_a_token_is_refused(local):
    added(local)
    with pytest.raises(InputError, match="revoke that token first"):
        added(local)
    with (
        pytest.raises(InputError, match=r"no operator 'eve'.*\(ada\)"),
        local.database.writing() as connection,
    ):
        revoke_operator(connection, "eve")

    def check(name):
        with pytest.raises(InputError, match="up to 64 letters"):
            added(local, name)

    each(["", "a b", "-a", "ä", "a" * 65, "a/b"], check)
