"""Requests: their address, headers and body, read as far as allowed and no further."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive

from graphveil.collect.problems import ProblemError

ROUND_FORM, REPORT_FORM = re.compile(r"[1-9][0-9]{0,6}"), re.compile(r"[0-9a-f]{32}")
# Longer than any length; a number of thousands of digits is not worth reading.
LENGTH_DIGITS = 18
BEARER = b"bearer"
# As they come: names in lower case, with their values.
Headers = Iterable[tuple[bytes, bytes]]
JSON = (b"content-type", b"application/json")


class GoneError(Exception):
    """The sender disconnected before the whole body arrived: nobody waits for an answer."""


def read_address(round: str, report: str) -> tuple[int, str]:
    """The round and the report that a path names."""
    if ROUND_FORM.fullmatch(round) is None or REPORT_FORM.fullmatch(report) is None:
        raise ProblemError(422, "a path names a round by its number, a report by 32 lower-case hex digits")
    return int(round), report


def header(headers: Headers, name: bytes) -> bytes:
    """The first header of this name, which is in lower case; empty where there is none."""
    for each, value in headers:
        if each == name:
            return value
    return b""


def bearer(headers: Headers, instead: str) -> str:
    """Return the bearer credential of a request; one that has none is told what to do ``instead``."""
    scheme, _, credential = header(headers, b"authorization").partition(b" ")
    if scheme.lower() != BEARER or not credential:
        raise ProblemError(401, instead)
    return credential.decode("latin-1")


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """Read a body that is not too large; one whose length says that it is, is not read at all.

    Parameters
    ----------
    headers
        The headers of the request.
    receive
        The ASGI function that returns the next part.
    limit
        The most bytes that are allowed.
    """
    told = header(headers, b"content-length")
    if told.isdigit() and (len(told) > LENGTH_DIGITS or int(told) > limit):
        raise _too_large(limit)
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise GoneError
        body += part.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not part.get("more_body", False):
            return bytes(body)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(413, f"at most {limit} bytes are taken here")


class JsonRequest(Request):
    """A request whose body is here already; it is JSON, whatever its headers call it."""

    def __init__(self, request: Request, body: bytes) -> None:
        headers = [each for each in request.scope["headers"] if each[0] != b"content-type"]
        super().__init__({**request.scope, "headers": [*headers, JSON]})
        self._body = body

    async def json(self) -> Any:
        """Return the parsed body; whatever keeps it from being parsed is one error."""
        try:
            return json.loads(self._body)
        except (ValueError, RecursionError):
            raise json.JSONDecodeError("not JSON", "", 0) from None


def bounded_router(limit: int, identify: Callable[[Request], Awaitable[Any]] | None = None) -> APIRouter:
    """Return a router whose bodies are read up to a limit before FastAPI parses them.

    If there is a function to ``identify`` who sends a request, it comes first, and ``request.state.sender`` is its result.
    """

    class BoundedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def bounded(request: Request) -> Response:
                if identify is not None:
                    request.state.sender = await identify(request)
                body = await read_body(request.headers.raw, request.receive, limit)
                return await handle(JsonRequest(request, body))

            return bounded

    return APIRouter(route_class=BoundedRoute)
