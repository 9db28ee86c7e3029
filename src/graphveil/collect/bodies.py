"""What a request says by its address, its length and its body: read as far as it is allowed to go, and no further."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request

from graphveil.collect.problems import ProblemError

ROUND_FORM, REPORT_FORM = re.compile(r"[1-9][0-9]{0,6}"), re.compile(r"[0-9a-f]{32}")
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


def read_address(request: Request) -> tuple[int, str]:
    """The round and the report that a path names."""
    number, report = request.path_params["round"], request.path_params["report"]
    if ROUND_FORM.fullmatch(number) is None or REPORT_FORM.fullmatch(report) is None:
        raise ProblemError(
            422, "a path names a round by its number, and a report by 32 hexadecimal digits in lower case"
        )
    return int(number), report


async def read_body(request: Request, limit: int) -> bytes:
    """The body, if it is not too large; one that says that it is, is not read at all."""
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(413, f"at most {limit} bytes are taken here", {"Connection": "close"})
