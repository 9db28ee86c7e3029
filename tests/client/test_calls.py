"""Calls to a collector: what is sent, and what is made of its answers."""

import json

import pytest

from graphveil.client import Calls, Cap, Response, Sealed
from graphveil.errors import ServerError
from tests.client.support import (
    COLLECTION,
    INVITATION,
    OFFER,
    PSEUDONYM,
    USER,
    Server,
    asked,
    succession,
    values,
)


def calls(server):
    return Calls(server, lambda call: call())


def test_an_offer_is_read():
    assert calls(Server()).offer() == OFFER


@pytest.mark.parametrize(
    "wrong",
    [
        {"cap": 4.0},
        {"cap": {"epsilon": -1}},
        {"key": "00"},
        {"key": "zz"},
        {"collection": 5},
        {"purpose": ""},
        {"range": [1.0, 0.0]},
        {"range": [0.0]},
        {"range": [0.0, 10**400]},
        {"dims": 1 << 40},
        {"range": None},
    ],
)
def test_an_offer_that_is_none_is_refused(wrong):
    with pytest.raises(ServerError, match="is this a collector"):
        calls(Server(offer=wrong)).offer()


def test_an_enrolment_says_the_terms():
    server = Server()
    told = calls(server).enrol(INVITATION, Cap(2.0, 1e-5), (1, 3), True)
    assert (told.collection, told.pseudonym, told.user, told.credential) == (
        COLLECTION,
        PSEUDONYM,
        USER,
        "cred",
    )
    method, path, body, headers = server.calls[0]
    assert (method, path, headers["Content-Type"]) == ("POST", "/v1/enrolment", "application/json")
    assert json.loads(body) == {
        "token": "c2l4dGVlbiBieXRlcy4uLg",
        "cap": {"epsilon": 2.0, "delta": 1e-5},
        "excluded": [1, 3],
        "volunteer": True,
    }


def test_renewal_and_levels_are_said_by_those_who_want_them():
    server = Server()
    calls(server).enrol(INVITATION, Cap(2.0, by_level=(1.0, 2.0), renewal_days=30))
    told = json.loads(server.calls[0][2])
    assert (told["by_level"], told["renewal_days"]) == ([1.0, 2.0], 30)


@pytest.mark.parametrize(
    "wrong",
    [{"key": "00" * 32}, {"credential": ""}, {"credential": "a\nb"}, {"pseudonym": "x"}, {"credential": 1}],
)
def test_an_enrolment_with_another_answer_is_refused_and_its_credential_not_shown(wrong):
    with pytest.raises(ServerError) as caught:
        calls(Server(enrolment=wrong)).enrol(INVITATION, Cap(1.0))
    assert "cred" not in str(caught.value).replace("credential", "")


def test_questions_are_read():
    server = Server(plans=[values()])
    assert calls(server).questions("cred") == [asked(values())]


@pytest.mark.parametrize("wrong", [b"{}", b"[1]", b"no JSON", json.dumps([{}] * 1001).encode()])
def test_questions_that_are_none_are_refused(wrong):
    with pytest.raises(ServerError):
        Calls(lambda *_: Response(200, wrong), lambda call: call()).questions("cred")


def test_what_the_collector_refuses_is_said_in_its_words():
    with pytest.raises(ServerError, match="send a credential") as caught:
        calls(Server()).questions("wrong")
    assert caught.value.status == 401


def test_an_answer_is_put_under_its_id():
    seen = []

    def transport(method, path, body, headers):
        seen.append((method, path, body, headers["Authorization"], headers["Content-Type"]))
        return Response(201)

    assert Calls(transport).send("cred", Sealed(2, "ab" * 16, b"bytes")).status == 201
    path = "/v1/rounds/2/reports/" + "ab" * 16
    assert seen == [("PUT", path, b"bytes", "Bearer cred", "application/octet-stream")]


def test_to_be_forgotten_is_one_call():
    server = Server()
    calls(server).forget("cred")
    assert server.calls[0][:2] == ("DELETE", "/v1/me")


def test_successions_are_read_and_a_collector_without_them_has_none():
    server = Server(successions=[succession(1)])
    assert calls(server).successions() == [succession(1)]
    assert calls(lambda *told, **more: Response(404, b"{}")).successions() == []


@pytest.mark.parametrize("told", [b"{}", b"[1]", b'[{"payload": "", "old": "", "new": ""}]', b"[0]" * 9])
def test_successions_that_are_none_are_refused(told):
    with pytest.raises(ServerError):
        calls(lambda *given, **more: Response(200, told)).successions()
