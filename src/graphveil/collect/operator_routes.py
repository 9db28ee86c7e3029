"""What operators may do over HTTP, with a token of their own: see how a collection stands, and close a round.

Everything else is done in the collection's folder, by whoever may read it.
"""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from graphveil.collect.operators import find_operator
from graphveil.collect.problems import ProblemError, documented
from graphveil.collect.requests import ADDRESS, PRIVATE, ROUND_FORM, bearer
from graphveil.collect.status import collection_status
from graphveil.collect.storage import Collection
from graphveil.errors import InputError

OPERATOR: dict[str, Any] = {"security": [{"operator": []}]}


def add_operator_routes(app: FastAPI, collection: Collection) -> None:
    """Add these routes."""

    def authenticate(request: Request) -> None:
        _check_operator(collection, bearer(request.headers.raw))

    operator = [Depends(authenticate)]

    @app.get(
        "/v1/operator/status",
        summary="Who takes part, which rounds there are, and what was learned: counts, and nobody's id",
        responses=documented(401, 503),
        openapi_extra=OPERATOR,
        dependencies=operator,
    )
    def look_at_status() -> Response:
        return JSONResponse(collection_status(collection), headers=PRIVATE)

    @app.post(
        "/v1/operator/rounds/{round}/close",
        summary="Close a round, if enough people have answered: it takes no more reports, and can be learned from",
        responses=documented(401, 404, 409, 422, 503),
        openapi_extra={**OPERATOR, "parameters": ADDRESS[:1]},
        dependencies=operator,
    )
    def close_round(request: Request) -> Response:
        number = request.path_params["round"]
        if ROUND_FORM.fullmatch(number) is None:
            raise ProblemError(422, "a path names a round by its number")
        return JSONResponse(_close(collection, int(number)), headers=PRIVATE)


def _check_operator(collection: Collection, token: str | None) -> None:
    with collection.database.reading() as connection:
        known = token is not None and find_operator(connection, token) is not None
    if not known:
        raise ProblemError(
            401,
            "send an operator's token as Authorization: Bearer …; `graphveil collect operator DIR NAME` makes one",
            {"WWW-Authenticate": "Bearer"},
        )


def _close(collection: Collection, number: int) -> dict[str, int]:
    try:
        found = collection.round(number)
    except InputError:
        raise ProblemError(
            404, f"there is no round {number}: GET /v1/operator/status lists those that there are"
        ) from None
    if not found.closed:
        try:
            found = collection.close(number)
        except InputError as error:
            raise ProblemError(409, str(error)) from None
    return {"round": found.number, "asked": len(found.asked), "answered": found.answered}
