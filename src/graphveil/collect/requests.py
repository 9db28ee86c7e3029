"""Requests: their address, headers and body, read as far as allowed and no further."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.types import Receive

from graphveil.collect.problems import ProblemError
from graphveil.errors import InputError

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

MAX_PROBLEMS = 3
REFERENCE = "#/components/schemas/{model}"

M = TypeVar("M", bound=BaseModel)


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


def parse_request(model: type[M], body: bytes) -> M:
    """Parse the body of a device's request.

    A ProblemError names the fields that are wrong, without their values.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, problem['loc'])) or 'the body'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise ProblemError(422, "; ".join(wrong[:MAX_PROBLEMS])) from None
    except InputError as error:
        raise ProblemError(422, str(error)) from None


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a body of this model; `definitions` has the model itself."""
    schema = {"$ref": REFERENCE.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def definitions(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI schemas of these models and of those that they refer to."""
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=REFERENCE)
    return dict(found["$defs"])
