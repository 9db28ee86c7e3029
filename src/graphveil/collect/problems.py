"""Errors as application/problem+json (RFC 9457): a title, a status, and what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from graphveil.errors import visible

MEDIA_TYPE = "application/problem+json"
TITLES = {
    400: "Bad request",
    401: "Not enrolled",
    403: "Not agreed to",
    404: "Not found",
    405: "Method not allowed",
    409: "Sent before, and different",
    410: "Closed",
    413: "Too large",
    422: "Cannot be taken",
    429: "Too fast",
    500: "A fault of the collector",
    503: "Not stored",
}
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 413: {"Connection": "close"}}


class ProblemAnswer(BaseModel):
    """A problem as it travels."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class ProblemError(Exception):
    """A request that is refused; ``detail`` says what to do, and holds nothing that was sent."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = HEADERS.get(status) if headers is None else headers


def problem_response(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem response.

    Parameters
    ----------
    status
        The HTTP status.
    detail
        What is wrong and what to do.
    headers
        Further headers.
    """
    told = ProblemAnswer(title=TITLES.get(status, "Refused"), status=status, detail=visible(detail))
    return Response(json.dumps(told.model_dump()), status, dict(headers or {}), MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses for problems with these statuses."""
    schema = ProblemAnswer.model_json_schema(mode="serialization")
    return {
        status: {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }
