"""What is no HTTP is refused as everything else is, over real sockets, and leaves no traceback in a log."""

import asyncio
import json
import logging
import socket
import threading

import pytest
import uvicorn

from graphveil.collect.protocol import Protocol
from graphveil.collect.service import create_app
from tests.collect.small import made

HEAD = b"PUT /v1/rounds/1/reports/" + b"a" * 32 + b" HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def port(tmp_path):
    """A collector that listens in a thread of this process."""
    collection = made(tmp_path / "c")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(collection), http=Protocol, log_config=None))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()
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


@pytest.mark.parametrize(
    "data",
    [
        b"no request at all\r\n\r\n",
        "GET /v1/collection/\xe9 HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"),
        "GET /v1/collection/é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_problem_too(port, data, caplog):
    head, _, body = said(port, data).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and b"content-type: application/problem+json" in head.lower()
    assert b"connection: close" in head.lower()
    assert json.loads(body)["status"] == 400
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
