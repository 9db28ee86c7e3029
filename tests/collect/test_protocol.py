"""What is no HTTP is refused as everything else is, over real sockets, and leaves no traceback in a log."""

import asyncio
import json
import logging
import re
import socket
import time
from contextlib import contextmanager, suppress

import pytest

from graphveil.collect.app import create_app
from graphveil.collect.server import CollectorProtocol
from tests.collect.small import made
from tests.fixtures import serving
from tests.together import each

HEAD = b"PUT /v1/rounds/1/reports/" + b"a" * 32 + b" HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def connection_to(app):
    """A connection to a server that listens in a thread of this process."""
    with listening_for(app) as number, socket.create_connection(("127.0.0.1", number), 60) as line:
        yield line


@contextmanager
def listening_for(app):
    """A server that listens in a thread of this process; its port."""
    with serving(app, http=CollectorProtocol, log_config=None, lifespan="off") as address:
        yield int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A collector that listens, to all tests of this file."""
    collection = made(tmp_path_factory.mktemp("listening") / "c")
    with listening_for(create_app(collection)) as number:
        yield number
    collection.database.close()


def said(port, *parts):
    """All that is said to some bytes, until the connection is closed; each part is sent after something was said."""
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        whole = b""
        for part in parts:
            line.sendall(part)
            whole += line.recv(1 << 16)
        while data := line.recv(1 << 16):
            whole += data
    return whole


def test_what_is_no_http_is_a_problem_too(port, caplog):
    def check(data):
        head, _, body = said(port, data).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ") and b"content-type: application/problem+json" in head.lower()
        assert b"connection: close" in head.lower()
        assert json.loads(body)["status"] == 400

    wrong = [
        b"no request at all\r\n\r\n",
        "GET /v1/collection/\xe9 HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"),
        "GET /v1/collection/é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
    ]
    each(wrong, check)
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "statuses"),
    [
        ([GET + b"\r\nGET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"], [b"200", b"400"]),
        ([HEAD + CHUNKED + b"1\r\nx\r\n", b"zz\r\n"], [b"401"]),
        ([GET + CHUNKED + b"zz\r\n"], [b"400"]),
        ([HEAD + CHUNKED + b"zz\r\n"], [b"400"]),
    ],
    ids=["a path after another request", "after an answer", "in a body that nobody reads", "in a body"],
)
def test_what_is_wrong_after_or_within_a_request_is_answered_once(port, parts, statuses, caplog):
    answers = said(port, *parts)
    assert answers.startswith(b"HTTP/1.1 ") and re.findall(rb"HTTP/1\.1 (\d+) ", answers) == statuses
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def answer_with(body, wait=0.0):
    """An application that answers everything with this, after so many seconds."""

    async def app(scope, receive, send):
        await asyncio.sleep(wait)
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def closed_within(line, seconds, trickle=b""):
    """Whether a connection is closed while it sends next to nothing."""
    line.settimeout(0.05)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if trickle:
                line.sendall(trickle)
            if line.recv(1 << 16) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("begun", "trickle"),
    [
        (b"", b""),
        (HEAD, b""),
        (HEAD, b"x"),
        (HEAD + b"Content-Length: 100\r\n\r\nabc", b""),
        (HEAD + b"Content-Length: 100000000\r\n\r\nabc", b"x"),
    ],
)
def test_whoever_does_not_end_a_request_holds_no_connection(port, monkeypatch, begun, trickle):
    monkeypatch.setattr("graphveil.collect.server.PATIENCE", 0.3)
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.sendall(begun)
        assert closed_within(line, 10.0, trickle)


def test_whoever_does_not_read_an_answer_holds_no_memory(monkeypatch):
    monkeypatch.setattr("graphveil.collect.server.PATIENCE", 0.3)
    lost, ended = [], CollectorProtocol.connection_lost
    monkeypatch.setattr(
        CollectorProtocol, "connection_lost", lambda self, exc: (ended(self, exc), lost.append(exc))
    )
    with connection_to(answer_with(bytes(50_000_000))) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        end = time.monotonic() + 10
        while not lost and time.monotonic() < end:
            time.sleep(0.05)
        assert lost


def test_whoever_waits_for_a_slow_answer_or_reads_a_long_one_slowly_gets_it(monkeypatch):
    monkeypatch.setattr("graphveil.collect.server.PATIENCE", 0.3)
    body = bytes(30_000_000)
    with connection_to(answer_with(body, wait=1.0)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        whole = 0
        while data := line.recv(1 << 20):
            whole += len(data)
            time.sleep(0.02)
    assert whole > len(body)


def test_a_long_request_that_moves_is_taken(port, monkeypatch):
    monkeypatch.setattr("graphveil.collect.server.PATIENCE", 0.3)
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.sendall(
            b"POST /v1/enrolment HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\nConnection: close\r\n\r\n"
        )
        for _ in range(20):
            line.sendall(b"x" * 3000)
            time.sleep(0.05)
        with suppress(OSError):
            assert line.recv(1 << 16).startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize("method", [b"PUT", b"GET"])
def test_nobody_leaves_http(port, method):
    words = b" /v1/questions HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n"
    words += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    head, _, body = said(port, method + words).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 " if method == b"PUT" else b"HTTP/1.1 401 ")
    assert json.loads(body)["title"]
