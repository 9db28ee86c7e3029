"""How devices take part: they redeem a token and register the credential that they have drawn."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from graphveil.collect import derived_credentials, roster
from graphveil.collect.behind import Service, unknown_credential
from graphveil.collect.bodies import read_body
from graphveil.collect.messages import ToldCredential, ToldEnrolment, json_body, read_told
from graphveil.collect.problems import ProblemError, documented
from graphveil.collect.roster import Refused

# JSON of a device, without what grows with the number of attributes.
MAX_JSON = 1 << 16
PRIVATE = {"Cache-Control": "no-store"}
REFUSED = {
    Refused.USED: (
        409,
        "this token was used by another device, which is enrolled now: ask for a new one if that was not you",
    ),
    Refused.TAKEN: (
        409,
        "this device is enrolled for somebody else: use another device, or another file of books, for each person",
    ),
    Refused.TERMS: (
        422,
        "you agreed to other terms when you first enrolled, and they hold for good: enrol with the same ones",
    ),
}


def add_enrolling(app: FastAPI, service: Service) -> None:
    """Add these routes."""
    collection, writer = service.collection, service.writer

    @app.post(
        "/v1/enrolment",
        status_code=201,
        summary="Take part, with a token that works once",
        responses=documented(401, 409, 413, 422, 503),
        openapi_extra=json_body(ToldEnrolment),
    )
    async def enrol(request: Request) -> Response:
        limit = MAX_JSON + 8 * collection.settings.dims
        told = read_told(ToldEnrolment, await read_body(request.headers.raw, request.receive, limit))
        agreed = told.agreement(collection.settings)
        # Those who guess tokens must not be in the way of those who write.
        if not await run_in_threadpool(service.invited, told.secret):
            raise ProblemError(
                401, "this token is not known: copy the whole of it, or ask the person who invited you"
            )
        own = bytes.fromhex(told.credential_hash)
        member = await writer.run(lambda connection: roster.enrol(connection, told.secret, own, agreed))
        if isinstance(member, Refused):
            raise ProblemError(*REFUSED[member])
        answer = {
            "collection": collection.settings.id,
            "pseudonym": member.pseudonym.hex(),
            "user": member.node,
            "key": collection.key.public.hex(),
        }
        return JSONResponse(answer, 201, PRIVATE)

    @app.put(
        "/v1/credential",
        status_code=204,
        summary="Register a credential that the device has drawn, once, by one that an earlier collector made",
        responses=documented(401, 413, 422, 429, 503),
        openapi_extra={"security": [{"device": []}], **json_body(ToldCredential)},
    )
    async def register(request: Request) -> Response:
        node, former = service.derived_holder(request.headers.raw)
        told = read_told(ToldCredential, await read_body(request.headers.raw, request.receive, MAX_JSON))
        own = bytes.fromhex(told.credential_hash)
        if not await writer.run(
            lambda connection: derived_credentials.register(connection, node, former, own)
        ):
            raise unknown_credential()
        return Response(status_code=204)
