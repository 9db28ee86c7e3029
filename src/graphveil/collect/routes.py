"""The routes of the collector.

Devices enrol, ask what they are asked, send their answers, look things up, and are forgotten. Operators, with a token of their own, see how a
collection stands and close a round; everything else is done in the collection's folder, by people who may read it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fastapi import Depends, FastAPI, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from graphveil.collect import roster
from graphveil.collect.models import (
    ClosedAnswer,
    CountAnswer,
    CredentialRequest,
    EnrolmentAnswer,
    EnrolmentRequest,
    OfferAnswer,
    ProbeAnswer,
    QuestionAnswer,
    ReportId,
    RoundNumber,
    RowRequest,
    StatusAnswer,
    SuccessionAnswer,
)
from graphveil.collect.problems import ProblemError, documented
from graphveil.collect.requests import bearer, bounded_router
from graphveil.collect.roster import Member, Refused
from graphveil.collect.service import Service, acknowledged, unknown_credential
from graphveil.collect.storage import Collection
from graphveil.collect.writer import ArrivalOutcome, store_row
from graphveil.errors import InputError
from graphveil.privacy.people import people_digests

# JSON of a device, without what grows with the number of attributes.
MAX_JSON = 1 << 16
NO_BODY = (b"content-length", b"0")
# A number of a row takes up to so many bytes.
BYTES_A_NUMBER = 40
# How devices and operators prove who they are, for the description: credentials are read in `Service.member` and below.
DEVICE, OPERATOR = (
    Security(HTTPBearer(scheme_name=name, auto_error=False)) for name in ("device", "operator")
)
BYTES = "application/octet-stream"
BINARY: dict[str, Any] = {"content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}
OPERATORS_TOKEN = (
    "send an operator's token as Authorization: Bearer …; `graphveil collect operator DIR NAME` makes one"
)


class UploadRoute(APIRoute):
    """The route of `Service.take`: FastAPI describes it, and it answers with a status alone, without what FastAPI does around an endpoint."""

    def __init__(self, path: str, service: Service, **options: Any) -> None:
        async def send(round: RoundNumber, report: ReportId) -> None:
            """The body is an envelope: see docs/wire-format.md."""

        super().__init__(path, send, response_class=Response, **options)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            status = await service.take(Request(scope, receive))
            # Made anew for everybody: pages of other origins have headers added to it.
            await send({"type": "http.response.start", "status": status, "headers": [NO_BODY]})
            await send({"type": "http.response.body"})

        self.app = answer


def no_store(response: Response) -> None:
    """Let nobody keep an answer that is for one device, or for operators."""
    response.headers["Cache-Control"] = "no-store"


PRIVATE = Depends(no_store)


def add_device_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of devices."""
    collection, writer = service.collection, service.writer

    async def authenticate(request: Request, _: Any = DEVICE) -> Member:
        return await service.member(request.headers.raw)

    async def former_holder(request: Request) -> tuple[int, str]:
        return service.derived_holder(request.headers.raw)

    device, dims = Depends(authenticate), collection.settings.dims
    upload = UploadRoute(
        "/v1/rounds/{round}/reports/{report}",
        service,
        methods=["PUT"],
        response_model=None,
        status_code=201,
        summary="Send an answer; the same once more is the same",
        responses={
            200: {"description": "It was here already, the same bytes"},
            **documented(401, 404, 409, 410, 413, 422, 429, 503),
        },
        dependencies=[DEVICE],
        openapi_extra={"requestBody": {"required": True, **BINARY}},
    )
    # First, because routes are tried in their order, and uploads are nearly all that a collector is asked.
    app.router.routes.insert(0, upload)

    strangers, former, own = (
        bounded_router(MAX_JSON + 8 * dims),
        bounded_router(MAX_JSON, former_holder),
        bounded_router(MAX_JSON + BYTES_A_NUMBER * dims, authenticate),
    )

    @strangers.post(
        "/v1/enrolment",
        status_code=201,
        summary="Take part, with a token that works once",
        responses=documented(401, 409, 413, 422, 503),
        dependencies=[PRIVATE],
    )
    async def enrol(told: EnrolmentRequest) -> EnrolmentAnswer:
        agreed = told.agreement(collection.settings)
        # Those who guess tokens must not be in the way of those who write.
        if not await run_in_threadpool(service.invited, told.secret):
            raise ProblemError(401, "this token is not known: copy all of it, or ask who invited you")
        drawn = bytes.fromhex(told.credential_hash)
        member = await writer.run(lambda connection: roster.enrol(connection, told.secret, drawn, agreed))
        if isinstance(member, Refused):
            raise ProblemError(422 if member is Refused.TERMS else 409, member.value)
        return EnrolmentAnswer(
            collection=collection.settings.id,
            pseudonym=member.pseudonym.hex(),
            user=member.node,
            key=collection.key.public.hex(),
        )

    @former.put(
        "/v1/credential",
        status_code=204,
        summary="Register a credential that the device has drawn, once, by one that an earlier collector made",
        responses=documented(401, 413, 422, 429, 503),
        dependencies=[DEVICE],
    )
    async def register(request: Request, told: CredentialRequest) -> None:
        node, derived = request.state.sender
        drawn = bytes.fromhex(told.credential_hash)
        if not await writer.run(
            lambda connection: roster.register_credential(connection, node, derived, drawn)
        ):
            raise unknown_credential()

    @app.get(
        "/v1/collection",
        summary="What is collected, why, and at which cap",
        response_model=OfferAnswer,
    )
    async def offer() -> dict[str, Any]:
        versions = await run_in_threadpool(lambda: collection.versions)
        people = versions[max(versions)]
        return {**collection.settings.offered, "people": people, "key": collection.key.public.hex()}

    @app.get(
        "/v1/questions",
        summary="The signed questions that this device has not answered",
        response_model=list[QuestionAnswer],
        responses=documented(401, 429, 503),
        dependencies=[PRIVATE],
    )
    async def questions(member: Member = device) -> list[dict[str, str]]:
        return await run_in_threadpool(service.questions, member.node)

    @own.put(
        "/v1/row",
        status_code=201,
        response_class=Response,
        summary="Give the raw row, as agreed to at enrolment",
        responses={
            200: {"description": "It was here already, the same row"},
            **documented(401, 403, 409, 413, 422, 429, 503),
        },
        dependencies=[DEVICE],
    )
    async def give_row(request: Request, told: RowRequest) -> Response:
        member, numbers = request.state.sender, told.numbers(dims)
        outcome = await writer.run(lambda connection: store_row(connection, member.node, numbers))
        if outcome is ArrivalOutcome.FORGOTTEN:
            raise ProblemError(403, "raw rows are taken from those alone who volunteered when they enrolled")
        return Response(status_code=acknowledged(outcome))

    @app.delete(
        "/v1/me",
        status_code=204,
        summary="Be forgotten: what was sent is deleted, and what was learned with it is marked",
        responses=documented(401, 429, 503),
    )
    async def forget(member: Member = device) -> None:
        await service.forget(member.node)

    @app.get(
        "/v1/keys",
        summary="How the collection's key has passed from one to the next, signed by both",
        response_model=list[SuccessionAnswer],
    )
    async def look_up_keys() -> list[dict[str, str]]:
        return [each.as_dict() for each in collection.successions]

    @app.get(
        "/v1/people",
        summary="Digests of the ids of all people, in the order of their numbers, where people are asked for their links",
        response_class=Response,
        responses={200: BINARY, **documented(401, 404, 429, 503)},
        dependencies=[device],
    )
    async def look_up_people() -> Response:
        if not collection.settings.private_links:
            raise ProblemError(404, "this collection asks nobody for links: see GET /v1/collection")
        digests = await run_in_threadpool(lambda: _people(collection, max(collection.versions)))
        return Response(digests, media_type=BYTES, headers={"Cache-Control": "no-store"})

    @app.get(
        "/v1/me",
        summary="How many different answers of this device are here",
        responses=documented(401, 429, 503),
        dependencies=[PRIVATE],
    )
    async def look_up_own(member: Member = device) -> CountAnswer:
        return CountAnswer(answered=await run_in_threadpool(service.answered, member.node))

    for router in (strangers, former, own):
        app.include_router(router)


@lru_cache(maxsize=4)
def _people(collection: Collection, version: int) -> bytes:
    """Digests of everybody in a version of the graph, in the order of their numbers."""
    return people_digests(collection.settings.id, collection.public_graph(version).ids)


def add_operator_routes(app: FastAPI, collection: Collection) -> None:
    """Add the routes of operators."""

    def authenticate(request: Request, _: Any = OPERATOR) -> None:
        token = bearer(request.headers.raw, OPERATORS_TOKEN)
        with collection.database.reading() as connection:
            if roster.find_operator(connection, token) is None:
                raise ProblemError(401, OPERATORS_TOKEN)

    operator = [Depends(authenticate), PRIVATE]

    @app.get(
        "/v1/operator/status",
        summary="Who takes part, which rounds there are, and what was learned: counts, and nobody's id",
        response_model=StatusAnswer,
        responses=documented(401, 503),
        dependencies=operator,
    )
    def look_at_status() -> dict[str, Any]:
        return collection.status()

    @app.post(
        "/v1/operator/rounds/{round}/close",
        summary="Close a round, if enough people have answered: it takes no more reports, and can be learned from",
        responses=documented(401, 404, 409, 422, 503),
        dependencies=operator,
    )
    def close_round(round: RoundNumber) -> ClosedAnswer:
        try:
            collection.round(round)
        except InputError:
            raise ProblemError(404, f"there is no round {round}: see GET /v1/operator/status") from None
        try:
            found = collection.close(round)
        except InputError as error:
            raise ProblemError(409, str(error)) from None
        return ClosedAnswer(round=found.number, asked=len(found.asked), answered=found.answered)


def add_probes(app: FastAPI, service: Service) -> None:
    """Add the routes by which the process is watched."""

    @app.get("/healthz", summary="Whether the process runs")
    async def health() -> ProbeAnswer:
        return ProbeAnswer(status="running")

    @app.get("/readyz", summary="Whether reports can be stored", responses=documented(503))
    async def ready() -> ProbeAnswer:
        await service.ready()
        return ProbeAnswer(status="ready")

    @app.get("/metrics", summary="Counts for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")
