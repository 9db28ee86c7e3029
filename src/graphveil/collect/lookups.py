"""What devices look up besides their questions: how the key has passed on, which numbers people have, and how much they have answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from sqlalchemy import distinct, func, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphveil.collect.bodies import Headers
from graphveil.collect.problems import ProblemError, documented
from graphveil.collect.roster import Member
from graphveil.collect.schema import REPORTS, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.privacy.people import people_digests

OCTETS = "application/octet-stream"
DEVICE: dict[str, Any] = {"security": [{"device": []}]}
PRIVATE = {"Cache-Control": "no-store"}
BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}


class People:
    """The digests of a collection's people, computed once for each version of the graph."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._known: tuple[int, bytes] | None = None

    def digests(self) -> bytes:
        """Those of everybody in the current version, in the order of their numbers."""
        version = max(self._collection.versions)
        known = self._known
        if known is None or known[0] != version:
            ids = self._collection.public_graph(version).ids
            known = self._known = version, people_digests(self._collection.settings.id, ids)
        return known[1]


def add_lookups(app: FastAPI, collection: Collection, member: Callable[[Headers], Awaitable[Member]]) -> None:
    """Add these routes; ``member`` refuses whoever is not enrolled, by the headers of a request."""
    people = People(collection)

    @app.get("/v1/keys", summary="How the collection's key has passed from one to the next, signed by both")
    async def look_up_keys() -> list[dict[str, str]]:
        return [each.as_dict() for each in collection.successions]

    @app.get(
        "/v1/people",
        summary="Digests of the ids of all people, in the order of their numbers, where people are asked for their links",
        response_class=Response,
        responses={**BINARY, **documented(401, 404, 429, 503)},
        openapi_extra=DEVICE,
    )
    async def look_up_people(request: Request) -> Response:
        await member(request.headers.raw)
        if not collection.settings.private_links:
            raise ProblemError(404, "this collection asks nobody for links: see GET /v1/collection")
        digests = await run_in_threadpool(people.digests)
        return Response(digests, media_type=OCTETS, headers=PRIVATE)

    @app.get(
        "/v1/me",
        summary="How many different answers of this device are here",
        responses=documented(401, 429, 503),
        openapi_extra=DEVICE,
    )
    async def look_up_own(request: Request) -> Response:
        node = (await member(request.headers.raw)).node
        return JSONResponse(
            {"answered": await run_in_threadpool(_answered, collection, node)}, headers=PRIVATE
        )


def _answered(collection: Collection, node: int) -> int:
    """How many reports of a user there are. Rounds that ask the same share one, under one id."""
    # By rounds, as reports are ordered: otherwise all of them would be looked through.
    own = (REPORTS.c.round.in_(select(ROUNDS.c.number)), REPORTS.c.node == node)
    counted = select(func.count(distinct(REPORTS.c.report))).where(*own)
    with collection.database.reading() as connection:
        return int(connection.execute(counted).scalar_one())
