"""What a request says by its address, its headers and its body: read as far as it is allowed to go, and no further."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from starlette.types import Receive

from graphveil.collect.problems import ProblemError

ROUND_FORM, REPORT_FORM = re.compile(r"[1-9][0-9]{0,6}"), re.compile(r"[0-9a-f]{32}")
# Longer than any length; a number of thousands of digits is not worth reading.
LENGTH_DIGITS = 18
BEARER = b"bearer"
# As they come: names in lower case, with their values.
Headers = Iterable[tuple[bytes, bytes]]
# Read by hand, because everybody's reports pass here.
ADDRESS: list[dict[str, Any]] = [
    {
        "name": "round",
        "in": "path",
        "required": True,
        "description": "The number of the round.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    },
    {
        "name": "report",
        "in": "path",
        "required": True,
        "description": "An id of the report's own.",
        "schema": {"type": "string", "pattern": f"^{REPORT_FORM.pattern}$"},
    },
]


class GoneError(Exception):
    """Whoever was sending has gone before all of it was here: nobody waits for an answer."""


def read_address(number: str, report: str) -> tuple[int, str]:
    """The round and the report that a path names."""
    if ROUND_FORM.fullmatch(number) is None or REPORT_FORM.fullmatch(report) is None:
        raise ProblemError(
            422, "a path names a round by its number, and a report by 32 hexadecimal digits in lower case"
        )
    return int(number), report


def header(headers: Headers, name: bytes) -> bytes:
    """The first header of this name, which is in lower case; empty where there is none."""
    for each, value in headers:
        if each == name:
            return value
    return b""


def bearer(headers: Headers) -> str | None:
    """What somebody proves who they are by; None where they do not try."""
    scheme, _, credential = header(headers, b"authorization").partition(b" ")
    if scheme.lower() != BEARER or not credential:
        return None
    return credential.decode("latin-1")


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """The body, if it is not too large; one that says that it is, is not read at all."""
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
    return ProblemError(413, f"at most {limit} bytes are taken here", {"Connection": "close"})
