"""Calls to a collector: what is sent, and what is made of its answers."""

import hashlib
import json
import tracemalloc
from dataclasses import replace

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
    calls,
    succession,
    values,
)
from tests.together import together


def test_what_a_collector_says_is_read():
    assert calls(Server()).offer() == OFFER
    server = Server(plans=[values()])
    assert calls(server).questions("cred", OFFER) == [asked(values())]
    server = Server(successions=[succession(1)])
    assert calls(server).successions() == [succession(1)]
    assert calls(lambda *told, **more: Response(404, b"{}")).successions() == []


@together(
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


def test_an_enrolment_says_the_terms_with_renewal_and_levels_where_they_are_wanted():
    server = Server()
    told = calls(server).enrol(INVITATION, "cred", Cap(2.0, 1e-5), (1, 3), True)
    assert told == (COLLECTION, PSEUDONYM, USER)
    method, path, body, headers = server.calls[0]
    assert (method, path, headers["Content-Type"]) == ("POST", "/v1/enrolment", "application/json")
    assert json.loads(body) == {
        "token": "c2l4dGVlbiBieXRlcy4uLg",
        "credential_hash": hashlib.sha256(b"cred").hexdigest(),
        "cap": {"epsilon": 2.0, "delta": 1e-5},
        "excluded": [1, 3],
        "volunteer": True,
    }
    server = Server()
    calls(server).enrol(INVITATION, "cred", Cap(2.0, by_level=(1.0, 2.0), renewal_days=30))
    told = json.loads(server.calls[0][2])
    assert (told["by_level"], told["renewal_days"]) == ([1.0, 2.0], 30)


@pytest.mark.parametrize(
    "wrong",
    [{"key": "00" * 32}, {"pseudonym": "x"}, {"collection": "a\nb"}],
)
def test_an_enrolment_with_another_answer_is_refused(wrong):
    with pytest.raises(ServerError, match="is this a collector"):
        calls(Server(enrolment=wrong)).enrol(INVITATION, "cred", Cap(1.0))


def test_every_call_is_made_as_it_was_agreed():
    server = Server(former="old")
    assert calls(server).register("old", "own").status == 204
    method, path, body, headers = server.calls[0]
    assert (method, path, headers["Authorization"]) == ("PUT", "/v1/credential", "Bearer old")
    assert json.loads(body) == {"credential_hash": hashlib.sha256(b"own").hexdigest()}
    seen = []

    def transport(method, path, body, headers, limit):
        seen.append((method, path, body, headers["Authorization"], headers["Content-Type"]))
        return Response(201)

    assert Calls(transport).send("cred", Sealed(2, "ab" * 16, b"bytes")).status == 201
    path = "/v1/rounds/2/reports/" + "ab" * 16
    assert seen == [("PUT", path, b"bytes", "Bearer cred", "application/octet-stream")]
    server = Server()
    calls(server).forget("cred")
    assert server.calls[0][:2] == ("DELETE", "/v1/me")


@pytest.mark.parametrize("wrong", [b"{}", b"[1]", b"no JSON", json.dumps([{}] * 33).encode()])
def test_questions_that_are_none_are_refused(wrong):
    with pytest.raises(ServerError):
        Calls(lambda *_: Response(200, wrong), lambda call: call()).questions("cred", OFFER)


def test_what_the_collector_refuses_is_said_in_its_words():
    with pytest.raises(ServerError, match="send a credential") as caught:
        calls(Server()).questions("wrong", OFFER)
    assert caught.value.status == 401


@pytest.mark.parametrize("told", [b"{}", b"[1]", b'[{"payload": "", "old": "", "new": ""}]', b"[0]" * 9])
def test_successions_that_are_none_are_refused(told):
    with pytest.raises(ServerError):
        calls(lambda *given, **more: Response(200, told)).successions()


def test_no_more_is_read_of_an_answer_than_what_was_agreed_on_needs():
    limits, server = {}, Server()

    def transport(method, path, body, headers, limit):
        limits[path] = limit
        return server(method, path, body, headers)

    asking = calls(transport)
    asking.offer(), asking.successions(), asking.enrol(INVITATION, "cred", Cap(1.0))
    asking.questions("cred", OFFER), asking.people("cred", OFFER)
    # 32 questions of 64 KiB in base64, and a model of 5 times 256 numbers in one of them.
    few = 32 * (4 * 65536 // 3 + 256) + 4 * 8 * 5 * 256 // 3
    assert limits == {
        "/v1/collection": 1 << 15,
        "/v1/keys": 1_024_000,
        "/v1/enrolment": 1 << 15,
        "/v1/questions": few,
        "/v1/people": 16 * 65536,
    }
    asking.questions("cred", replace(OFFER, dims=1 << 20))
    assert limits["/v1/questions"] < 25 << 20


HOSTILE = {
    "objects": b"[" + b"{}," * 2_000_000 + b"{}]",
    "numbers": b"[" + b"999," * 1_500_000 + b"1]",
    "names": b'{"a":' * 1_000_000,
    "wide letters": b'["' + b"a" * 2_000_000 + "\U0001f600".encode() + b'"]',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("call", ["offer", "successions", "questions"])
def test_hostile_json_takes_little_more_memory_than_its_bytes(body, call):
    asking = calls(lambda *told, **more: Response(200, body))
    tracemalloc.start()
    try:
        with pytest.raises(ServerError, match="is this a collector"):
            asking.questions("cred", OFFER) if call == "questions" else getattr(asking, call)()
        assert tracemalloc.get_traced_memory()[1] < 10 * len(body)
    finally:
        tracemalloc.stop()


def test_a_server_that_asks_to_wait_at_each_call_is_left_after_a_while():
    now, sent = [0.0], []

    def transport(*given):
        sent.append(given)
        return Response(429, headers={"Retry-After": "999"})

    def patience(attempt):
        now[0] += 120.0
        return attempt()

    calls = Calls(transport, patience, clock=lambda: now[0]).within(300.0)
    for _ in range(2):
        assert calls.send("cred", Sealed(2, "ab" * 16, b"bytes")).status == 429
    for _ in range(2):
        with pytest.raises(ServerError, match="takes too long in all"):
            calls.send("cred", Sealed(2, "ab" * 16, b"bytes"))
    assert len(sent) == 2
    assert calls.within().send("cred", Sealed(2, "ab" * 16, b"bytes")).status == 429
