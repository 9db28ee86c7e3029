"""What is no HTTP is refused as everything else is, over real sockets, and leaves no traceback in a log."""

import asyncio
import json
import logging
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import uvicorn

from graphveil.collect.app import create_app
from graphveil.collect.server import CollectorProtocol
from tests.collect.small import made
from tests.together import each

HEAD = b"PUT /v1/rounds/1/reports/" + b"a" * 32 + b" HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def listening_for(app):
    """A server that listens in a thread of this process; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http=CollectorProtocol, log_config=None, lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()


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


def test_a_path_that_is_not_ascii_after_another_request_is_a_problem(port, caplog):
    both = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"
    answers = said(port, both)
    assert answers.startswith(b"HTTP/1.1 200 ") and b"HTTP/1.1 400 " in answers
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def test_what_is_wrong_after_an_answer_ends_the_connection_alone(port, caplog):
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
    answers = said(port, chunked, b"zz\r\n")
    assert answers.startswith(b"HTTP/1.1 401 ") and answers.count(b"HTTP/1.1") == 1
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


@pytest.mark.parametrize("head", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n", HEAD])
def test_what_is_wrong_while_it_is_being_answered_is_answered_once(port, head, caplog):
    answers = said(port, head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
    assert answers.startswith(b"HTTP/1.1 400 ") and answers.count(b"HTTP/1.1 ") == 1
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def answer_with(body, wait=0.0):
    """An application that answers everything with this, after so many seconds."""

    async def app(scope, receive, send):
        await asyncio.sleep(wait)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))],
            }
        )
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
    with (
        listening_for(answer_with(bytes(50_000_000))) as number,
        socket.create_connection(("127.0.0.1", number), 60) as line,
    ):
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        end = time.monotonic() + 10
        while not lost and time.monotonic() < end:
            time.sleep(0.05)
        assert lost


def test_whoever_waits_for_a_slow_answer_or_reads_a_long_one_slowly_gets_it(monkeypatch):
    monkeypatch.setattr("graphveil.collect.server.PATIENCE", 0.3)
    body = bytes(30_000_000)
    with (
        listening_for(answer_with(body, wait=1.0)) as number,
        socket.create_connection(("127.0.0.1", number), 60) as line,
    ):
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
