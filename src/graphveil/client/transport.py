"""The transport to a collector: HTTP by the standard library, or any callable with the same signature."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from graphveil.errors import InputError, MessageError, ServerError, visible
from graphveil.privacy.envelope import read_json

# Bytes and values of JSON in an ordinary answer: an offer with its purpose, an enrolment, a list of questions without their content.
MAX_ANSWER, MAX_VALUES = 1 << 15, 4096
# What is read of an answer that refuses something; the rest is left.
MAX_PROBLEM = 1 << 14
# Bytes of heads, chunk sizes and trailers, besides twice those of a body.
MAX_HEADS = 1 << 16
# Seconds that a server may be silent, and how many times as long a whole call may take: 16 MB of digests over a slow line.
TIMEOUT, DEADLINE = 60.0, 5
BLOCK = 1 << 16
# After a failure that may pass: so many more attempts, and the first wait in seconds, which doubles.
ATTEMPTS, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 30.0
PASSING = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Response:
    """The response of a server."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self, values: int = MAX_VALUES) -> Any:
        """The body, which must be JSON of so many values at most."""
        try:
            return read_json(self.body, "answer", len(self.body), values)
        except MessageError as error:
            raise ServerError(
                self.status, f"the answer cannot be read, {error}: is this a collector?"
            ) from None

    @property
    def problem(self) -> str:
        """Return the error that the server reports (application/problem+json), or its status."""
        try:
            told = json.loads(self.body)
            said = told.get("detail") or told.get("title")
        except (ValueError, RecursionError, AttributeError):
            said = None
        return visible(" ".join(str(said).split())[:500]) if said else f"status {self.status}"


class Transport(Protocol):
    """One request, one response; a ServerError with status 0 where there is none, or one of more than ``limit`` bytes."""

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Response: ...


class Http:
    """Requests to one server. Names and credentials travel in the clear without TLS, so other machines are reached by https only.

    Redirections are not followed: a credential is for the server that it was given by. Answers are not decompressed. A call ends after
    ``deadline`` seconds (five times the ``timeout`` unless given), however slowly a server goes on, and once a server has sent much more than the call may read.
    """

    def __init__(self, server: str, timeout: float = TIMEOUT, deadline: float | None = None) -> None:
        try:
            parts = urlsplit(server)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InputError(f"the server must be an address like https://a.example, got {server!r}")
        if parts.scheme == "http" and not _is_this_machine(parts.hostname):
            raise InputError(
                f"{server!r} is another machine, and http is read by everybody on the way: use https"
            )
        self.server, self._timeout = server.rstrip("/"), timeout
        self._deadline = DEADLINE * timeout if deadline is None else deadline
        handlers: list[Any] = [_NoRedirection, _Http, _Https]
        if _is_this_machine(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Response:
        request = _Request(self.server + path, data=body, headers=dict(headers or {}), method=method)
        request.limit, request.until = limit, time.monotonic() + self._deadline
        try:
            return self._exchange(request, limit)
        # The standard library raises the last two at lengths that are negative or beyond 63 bits.
        except (OSError, HTTPException, ValueError, OverflowError) as error:
            # A status line that is none is quoted there, whatever its length.
            reason = str(getattr(error, "reason", None) or error)[:200]
            raise ServerError(0, f"{self.server} cannot be reached ({reason}): is it running?") from None

    def _exchange(self, request: urllib.request.Request, limit: int) -> Response:
        with self._opened(request) as answer:
            refused = answer.status >= 300
            body = _body(answer, MAX_PROBLEM if refused else limit)
            if len(body) > limit and not refused:
                raise _too_long(limit)
            return Response(answer.status, body, dict(answer.headers))

    def _opened(self, request: urllib.request.Request) -> Any:
        """The answer, whatever its status is."""
        try:
            return self._opener.open(request, timeout=min(self._timeout, self._deadline))
        except urllib.error.HTTPError as error:
            return error


def patiently(
    call: Callable[[], Response], attempts: int = ATTEMPTS, sleep: Callable[[float], None] = time.sleep
) -> Response:
    """Repeat a call after temporary failures: no connection, a server that is busy or restarts.

    Parameters
    ----------
    call
        The call; it must be safe to repeat.
    attempts
        The largest number of calls.
    sleep
        The function that waits for so many seconds.
    """
    wait = FIRST_WAIT
    for left in range(attempts - 1, -1, -1):
        try:
            response = call()
        except ServerError:
            if not left:
                raise
            sleep(wait)
        else:
            if response.status not in PASSING or not left:
                return response
            sleep(_retry_after(response, wait))
        wait = min(2 * wait, LONGEST_WAIT)
    raise AssertionError("the last attempt returns or raises")


def _retry_after(response: Response, otherwise: float) -> float:
    told = {name.lower(): value for name, value in response.headers.items()}.get("retry-after", "")
    return min(float(told), LONGEST_WAIT) if told.isdecimal() else otherwise


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the answer is handed out as it is."""


class _Request(urllib.request.Request):
    """A request whose answer may have a body of ``limit`` bytes, and is read until a time of the monotonic clock."""

    limit: int
    until: float


class _Metered(urllib.request.AbstractHTTPHandler):
    """Opens connections whose answers keep the limits of their requests, from the first byte of the status line on."""

    def do_open(self, http_class: Any, req: Any, **given: Any) -> Any:
        def connected(*args: Any, **more: Any) -> Any:
            connection = http_class(*args, **more)
            connection.response_class = partial(_Answer, req)
            return connection

        return super().do_open(connected, req, **given)


class _Http(_Metered, urllib.request.HTTPHandler):
    pass


class _Https(_Metered, urllib.request.HTTPSHandler):
    pass


class _Answer(HTTPResponse):
    def __init__(self, request: _Request, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self.fp.close()
        self.fp = BufferedReader(_Meter(request, sock))


class _Meter(RawIOBase):
    """Reads from a socket no more bytes, and no longer, than a request allows.

    Limits on a body alone would not do: a server may send heads, chunk sizes and trailers without end.
    """

    def __init__(self, request: _Request, sock: socket.socket) -> None:
        self._socket, self._file = sock, sock.makefile("rb", buffering=0)
        self._request, self._timeout = request, sock.gettimeout() or TIMEOUT
        self._left = 2 * max(request.limit, MAX_PROBLEM) + MAX_HEADS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._request.until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("it takes too long")
        self._socket.settimeout(min(self._timeout, seconds))
        count = self._file.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise _too_long(self._request.limit)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _too_long(limit: int) -> ServerError:
    return ServerError(0, f"the server's answer has more than {limit} bytes: it is not read")


def _body(answer: Any, limit: int) -> bytes:
    """Return the body of a response, up to the byte with which it passes the limit."""
    body = bytearray()
    while len(body) <= limit and (block := answer.read(min(BLOCK, limit + 1 - len(body)))):
        body += block
    if len(body) <= limit and answer.length:
        raise HTTPException("the answer broke off")
    return bytes(body)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
