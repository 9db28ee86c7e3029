"""HTTP by the standard library: what comes back, what is never sent, and when it is tried again."""

import gzip
import json
import socket
import tracemalloc
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from graphveil.client import Http, Response
from graphveil.client.transport import patiently
from graphveil.errors import ServerError
from tests.refusals import check_refused
from tests.together import each


class Handler(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = {"method": self.command, "path": self.path, "body": body.decode(), "key": self.headers["Key"]}
        status = int(self.path.rsplit("/", 1)[-1]) if self.path.startswith("/status/") else 200
        self.server.seen.append(self.path)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        data = json.dumps(told).encode()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


for verb in ("GET", "PUT"):
    setattr(Handler, f"do_{verb}", Handler.answer)


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.seen = []
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def http(server):
    return Http(f"http://127.0.0.1:{server.server_port}/base/")


def test_a_request_arrives_as_it_was_sent(http):
    told = http("PUT", "/v1/row", b"bytes", {"Key": "value"}).json()
    assert told == {"method": "PUT", "path": "/base/v1/row", "body": "bytes", "key": "value"}


def test_a_status_is_a_response_and_no_error_and_no_redirection_is_followed(server):
    http, told = Http(f"http://localhost:{server.server_port}"), (201, 302, 404, 409, 503)
    found = [http("GET", f"/status/{status}", headers={"Authorization": "Bearer secret"}) for status in told]
    assert [each.status for each in found] == list(told) and "/elsewhere" not in server.seen


def test_an_answer_that_is_too_long_is_not_read(http):
    with pytest.raises(ServerError, match="more than 10 bytes"):
        http("GET", "/", limit=10)


@contextmanager
def hostile(head, *more):
    """A server that says the same to everybody, and then, again and again, more; how much it has sent is counted."""
    sent, stopped = [0], Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(head)
                while more and not stopped.is_set():
                    connection.sendall(more[0])
                    sent[0] += len(more[0])
                    stopped.wait(more[1])

        thread = Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", sent
        stopped.set()
        thread.join()


def failure(said, head, *more, **options):
    """What is said of a server that answers so."""
    with hostile(head, *more) as (server, _), pytest.raises(ServerError, match=said) as caught:
        Http(server, **options)("GET", "/")
    return str(caught.value)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_chunks_without_end_are_not_read_to_the_end_and_small_ones_cost_no_more():
    with hostile(CHUNKED, b"2\r\n[]\r\n" * 4096, 0) as (server, _):
        tracemalloc.start()
        try:
            with pytest.raises(ServerError, match="more than 1048576 bytes"):
                Http(server)("GET", "/", limit=1 << 20)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("head", "drip"),
    [
        (CHUNKED, b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"HTTP/1.1 2", b"0"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["chunks", "body", "headers", "status", "continue"],
)
def test_a_server_that_drips_is_left(head, drip):
    failure("takes too long|timed out", head, drip, 0.05, deadline=0.3)


@pytest.mark.parametrize(
    ("head", "more"),
    [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n")],
    ids=["continue", "trailers"],
)
def test_heads_without_end_are_not_read_to_the_end(head, more):
    failure("more than 32768 bytes", head, more * 1000, 0)


def test_a_chunk_of_no_size_is_no_answer():
    sizes = [b"-5", b"-ffffffffffffffffffff", b"f" * 40, b"x"]
    each(sizes, lambda size: failure(None, CHUNKED + size + b"\r\n{}\r\n0\r\n\r\n"))


def test_of_a_status_line_that_is_none_only_the_beginning_is_said():
    said = failure("cannot be reached", b"x\x1b[2J" * 5000 + b"\r\n\r\n")
    assert len(said) < 1000 and "\x1b" not in said


def test_an_answer_that_is_compressed_is_not_expanded():
    bomb = gzip.compress(bytes(1 << 24))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    with hostile(head + bomb) as (server, _):
        answer = Http(server)("GET", "/")
    assert answer.body == bomb


def test_of_a_long_refusal_only_the_beginning_is_read():
    head = b"HTTP/1.1 503 Busy\r\nContent-Length: 100000000\r\n\r\n"
    with hostile(head, b"x" * 65536, 0) as (server, _):
        answer = Http(server)("GET", "/")
    assert answer.problem == "status 503" and len(answer.body) < 1 << 17


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "broke off"),
        # A status with a body that is none.
        (b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n", "cannot be reached"),
    ],
)
def test_an_answer_that_breaks_off_is_no_answer(answer, said):
    failure(said, answer)


def test_a_server_that_is_not_there_is_said():
    with pytest.raises(ServerError, match="cannot be reached") as caught:
        Http("http://127.0.0.1:9")("GET", "/")
    assert caught.value.status == 0


def test_what_is_no_address_is_refused_and_other_machines_are_reached_by_https_only():
    wrong = ["collect.example.org", "ftp://a.org", "http://", "https://a.org/?q=1", "http://[::1"]
    refused = [(address, "must be an address like https") for address in wrong]
    check_refused(Http, [*refused, ("http://collect.example.org", "use https")])
    Http("https://collect.example.org")
    Http("http://[::1]:8000")


def scripted(*steps):
    """A call that does one step after the other."""
    left = list(steps)

    def call():
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    return call


def test_what_may_pass_is_tried_again_a_few_times_and_nothing_else():
    waits = []
    call = scripted(
        ServerError(0, "gone"), Response(503), Response(429, headers={"Retry-After": "7"}), Response(201)
    )
    assert patiently(call, sleep=waits.append).status == 201
    assert waits == [0.5, 1.0, 7.0]
    waits = []
    assert patiently(scripted(Response(409)), sleep=waits.append).status == 409
    assert waits == []
    waits = []
    assert patiently(scripted(*[Response(503)] * 5), sleep=waits.append).status == 503
    with pytest.raises(ServerError, match="gone"):
        patiently(scripted(*[ServerError(0, "gone")] * 5), sleep=waits.append)
    assert len(waits) == 8
    waits = []
    answers = iter([Response(503, headers={"Retry-After": "²"}), Response(200)])
    assert patiently(lambda: next(answers), sleep=waits.append).status == 200
    assert waits == [0.5]


def test_a_problem_says_what_to_do_and_gives_a_terminal_no_orders():
    assert Response(422, b'{"title": "Wrong", "detail": "do this"}').problem == "do this"
    assert Response(500, b"<html>").problem == "status 500"
    assert Response(500, b"[1]").problem == "status 500"
    said = Response(409, json.dumps({"detail": "gone\x1b]0;mine\x07 \u202ereversed"}).encode()).problem
    assert said == "gone\\u001b]0;mine\\u0007 \\u202ereversed"
