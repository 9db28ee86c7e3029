"""How bytes reach a collector: HTTP by the standard library, or anything else that can be called like it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from ipaddress import ip_address
from typing import IO, Any, NoReturn, Protocol
from urllib.parse import urlsplit

from graphveil.errors import InputError, ServerError

# Plans of 16 MiB in base64, and some of them; no answer that is longer is read.
MAX_ANSWER = 64 << 20
TIMEOUT = 60.0
# After a failure that may pass: so many more attempts, and the first wait in seconds, which doubles.
ATTEMPTS, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 30.0
PASSING = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Response:
    """What a server answered."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """The body, which must be JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise ServerError(self.status, "the server's answer is no JSON: is this a collector?") from None

    @property
    def problem(self) -> str:
        """What the server says is wrong (application/problem+json), or its status."""
        try:
            told = json.loads(self.body)
            said = told.get("detail") or told.get("title")
        except (ValueError, RecursionError, AttributeError):
            said = None
        return printable(str(said)[:500]) if said else f"status {self.status}"


def printable(text: str) -> str:
    """Words of a server, without what a terminal would take for orders.

    >>> printable("all\\x1b[2Jgone")
    'all [2Jgone'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


class Transport(Protocol):
    """One request, one response; a ServerError with status 0 where there is none."""

    def __call__(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response: ...


class Http:
    """Requests to one server. Names and credentials travel in the clear without TLS, so other machines are reached by https only.

    Redirections are not followed: a credential is for the server that it was given by.
    """

    def __init__(self, server: str, timeout: float = TIMEOUT) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InputError(
                f"the server must be an address like https://collect.example.org, got {server!r}"
            )
        if parts.scheme == "http" and not _is_this_machine(parts.hostname):
            raise InputError(
                f"{server!r} is another machine, and http lets everybody on the way read along: use https"
            )
        self.server, self._timeout = server.rstrip("/"), timeout
        handlers: list[Any] = [_NoRedirection]
        if _is_this_machine(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def __call__(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        request = urllib.request.Request(
            self.server + path, data=body, headers=dict(headers or {}), method=method
        )
        try:
            with self._opened(request) as answer:
                return Response(answer.status, _body(answer), dict(answer.headers))
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerError(
                0,
                f"{self.server} cannot be reached ({printable(str(reason))}): see whether it runs, and try again",
            ) from None

    def _opened(self, request: urllib.request.Request) -> Any:
        """The answer, whatever its status is."""
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            return error


def patiently(
    call: Callable[[], Response], attempts: int = ATTEMPTS, sleep: Callable[[float], None] = time.sleep
) -> Response:
    """Call again after what may pass: no connection, a server that is busy or restarts. What is called must bear to be repeated."""
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
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> NoReturn:
        raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)


def _body(answer: Any) -> bytes:
    data = bytes(answer.read(MAX_ANSWER + 1))
    if len(data) > MAX_ANSWER:
        raise ServerError(0, f"the server's answer has more than {MAX_ANSWER} bytes: it is not read")
    return data


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
