"""Uploads: what is answered to each, at the root and under a prefix."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from graphveil.collect.app import create_app
from graphveil.errors import StoreError
from tests.collect.small import address, asking, bearer, envelope, made, served

PREFIX = "/below"


async def answers_of(app, requests, prefix=""):
    """Statuses, headers and bodies of answers, over ASGI."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
        told = [
            await client.put(prefix + path, content=body, headers=headers) for path, body, headers in requests
        ]
    return [(answer.status_code, dict(answer.headers), answer.content) for answer in told]


def many_requests(collection):
    """Uploads of all kinds: stored, again, other bytes, of nobody, to no round, too large, damaged, badly addressed."""
    credentials, opened = asking(collection)
    whole, path = envelope(collection, opened, 3), address(opened, 3)
    other = envelope(collection, opened, 3, report="00" * 16)
    own = bearer(credentials[3])
    return [
        (path, whole, own),
        (path, whole, own),
        ("/v1/rounds/1/reports/" + "00" * 16, other, own),
        (path, whole, {}),
        (path, whole, bearer("x")),
        (path, whole, bearer(credentials[4])),
        (address(opened, 3, number=9), whole, own),
        (path, whole + bytes(1000), own),
        (path, whole[:-1], own),
        (path, b"", own),
        (path.upper(), whole, own),
        (path + "/", whole, own),
        (path + "0", whole, own),
        (path.replace("rounds/1", "rounds/01"), whole, own),
    ]


def test_under_a_prefix_there_are_the_same_answers(tmp_path):
    both = []
    for prefix in ("", PREFIX):
        collection = made(tmp_path / f"c{prefix.strip('/')}")
        requests = many_requests(collection)
        app = create_app(collection)
        both.append(asyncio.run(answers_of(Starlette(routes=[Mount(prefix, app)]), requests, prefix)))
        assert collection.round(1).answered == 1
        collection.database.close()
    at_root, below = both
    expected = [201, 200, 409, 401, 401, 422, 404, 413, 422, 422, 404, 404, 422, 422]
    assert [status for status, *_ in at_root] == expected and at_root == below


def test_a_database_that_cannot_be_used_is_said_so(local, monkeypatch):
    (first, *_) = many_requests(local)

    def fails(*_, **__):
        raise StoreError("the disk is full")

    monkeypatch.setattr("graphveil.collect.writer.store", fails)
    app = create_app(local)
    ((status, headers, body),) = asyncio.run(answers_of(app, [first]))
    assert status == 503 and headers["retry-after"] == "5"
    assert headers["content-type"] == "application/problem+json" and b"send the same again" in body


def test_a_fault_of_the_collector_is_a_problem_too(local, monkeypatch):
    (path, whole, own), *_ = many_requests(local)

    def faulty(*_):
        raise RuntimeError("a number of somebody")

    monkeypatch.setattr("graphveil.collect.service.find_members", faulty)

    async def run(client):
        upload = await client.put(path, content=whole, headers=own)
        return upload, await client.get("/v1/questions", headers=own)

    for answer in served(local, run):
        assert answer.status_code == answer.json()["status"] == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert "send the same again" in answer.json()["detail"] and "somebody" not in answer.text


def test_headers_for_one_origin_do_not_stay_for_the_next_answer(local):
    (path, whole, own), *_ = many_requests(local)
    named = {**own, "Origin": "https://one.example"}
    app = create_app(local, origins=["https://one.example"])
    stored, again, without = asyncio.run(
        answers_of(app, [(path, whole, named), (path, whole, named), (path, whole, own)])
    )
    assert stored[1]["access-control-allow-origin"] == again[1]["access-control-allow-origin"]
    assert stored[1]["vary"] == again[1]["vary"] == "Origin"
    assert "access-control-allow-origin" not in without[1]


@pytest.mark.parametrize("path", [None, "/v1/row"])
def test_whoever_goes_before_the_end_leaves_nothing(local, path):
    (upload, whole, own), *_ = many_requests(local)
    parts = [{"type": "http.request", "body": whole[:40], "more_body": True}, {"type": "http.disconnect"}]
    told = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        told.append(message)

    scope = {"type": "http", "method": "PUT", "path": path or upload, "query_string": b""}
    scope["headers"] = [(b"authorization", own["Authorization"].encode())]
    # No exception comes out of it: a server would write that down, with its traces.
    asyncio.run(create_app(local)(scope, receive, send))
    assert [message["status"] for message in told if "status" in message] == [400]
    assert local.round(1).answered == 0


def test_no_trace_is_made_of_a_request_though_the_process_has_a_tracer(local, monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace", reason="nothing could make a trace")
    asked = []

    class Noting(trace.TracerProvider):
        def get_tracer(self, *names, **told):
            asked.append(names)
            return trace.NoOpTracer()

    monkeypatch.setattr(trace, "get_tracer_provider", Noting)
    requests = many_requests(local)
    asyncio.run(answers_of(create_app(local), requests))
    assert asked == []
