"""The collector over HTTP: devices enrol, ask what they are asked, and send their answers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy import select, text
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from graphveil.collect import forgetting, roster
from graphveil.collect.arrivals import Arrival, Outcome, store_row
from graphveil.collect.asking import AskedRound
from graphveil.collect.bodies import ADDRESS, read_address, read_body
from graphveil.collect.lookups import add_lookups
from graphveil.collect.metrics import Counted, Metrics
from graphveil.collect.pace import Pace
from graphveil.collect.problems import ProblemError, documented, problem_response
from graphveil.collect.roster import Member
from graphveil.collect.schema import REPORTS, ROSTER, ROUNDS
from graphveil.collect.storage import Collection
from graphveil.collect.told import ToldEnrolment, ToldRow, definitions, json_body, read_told
from graphveil.collect.writer import Writer
from graphveil.errors import InputError, MessageError, StoreError
from graphveil.privacy.envelope import Envelope, SignedQuestion
from graphveil.version import __version__

# JSON of a device: a list of excluded attributes, or a row whose numbers take up to so many bytes each.
MAX_JSON, BYTES_A_NUMBER = 1 << 16, 40
# Rounds that are kept in memory; what was published never changes.
ROUNDS_KEPT = 64
# How often reports whose time is over are looked for, in seconds.
SWEEP = 3600.0
OCTETS = "application/octet-stream"
DEVICE: dict[str, Any] = {"security": [{"device": []}]}
PRIVATE = {"Cache-Control": "no-store"}


class Service:
    """What stands behind the routes: one collection, one writer."""

    def __init__(self, collection: Collection, pace: Pace | None = None) -> None:
        self.collection, self.pace, self.metrics = collection, pace or Pace(), Metrics()
        self.writer = Writer(collection.database, self.metrics.committed)
        self._rounds: dict[int, AskedRound] = {}
        self._loading = Lock()

    async def member(self, request: Request) -> Member:
        """Who sends this, by the credential; refused where nobody does, or where they send too much."""
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not credential:
            raise ProblemError(
                401,
                "send the credential of the enrolment as Authorization: Bearer …",
                {"WWW-Authenticate": "Bearer"},
            )
        held = self.collection.key.holder(credential)
        # The roster knows credentials of earlier keys too.
        found = (
            Member(*held, volunteer=False)
            if held is not None
            else await run_in_threadpool(self._find, credential)
        )
        if found is None:
            raise unknown_credential()
        wait = self.pace.wait(found.node)
        if wait:
            raise ProblemError(
                429,
                "this device sends too much: wait, then send the same again",
                {"Retry-After": str(math.ceil(wait))},
            )
        return found

    def _find(self, credential: str) -> Member | None:
        with self.collection.database.reading() as connection:
            return roster.find_member(connection, credential)

    def invited(self, secret: bytes) -> bool:
        """Whether somebody was given this secret."""
        with self.collection.database.reading() as connection:
            return roster.find_invited(connection, secret) is not None

    async def round(self, number: int) -> AskedRound:
        """A published round."""
        found = self._rounds.get(number)
        return found if found is not None else await run_in_threadpool(self._load, number)

    def _load(self, number: int) -> AskedRound:
        """A round from the database, read once, however many ask for it."""
        with self._loading:
            if number not in self._rounds:
                try:
                    found = AskedRound(self.collection.round(number))
                except InputError:
                    raise ProblemError(
                        404, f"there is no round {number}: GET /v1/questions says what is asked"
                    ) from None
                while len(self._rounds) >= ROUNDS_KEPT:
                    self._rounds.pop(next(iter(self._rounds)))
                self._rounds[number] = found
            return self._rounds[number]

    def questions(self, node: int) -> list[dict[str, str]]:
        """What a user is asked and has not answered, signed."""
        with self.collection.database.reading() as connection:
            enrolled = connection.execute(
                select(ROSTER.c.node).where(ROSTER.c.node == node, ROSTER.c.credential.is_not(None))
            ).first()
            if enrolled is None:
                raise unknown_credential()
            opened = connection.execute(
                select(ROUNDS.c.number)
                .where(ROUNDS.c.closed.is_(False), ROUNDS.c.expires > int(time.time()))
                .order_by(ROUNDS.c.number)
            ).scalars()
            numbers = list(opened)
            answered = set(
                connection.execute(select(REPORTS.c.round).where(REPORTS.c.node == node)).scalars()
            )
        settings, key = self.collection.settings, self.collection.key
        signed = []
        for number in numbers:
            asked = self._rounds.get(number) or self._load(number)
            if number in answered or not asked.asks(node):
                continue
            unsigned = SignedQuestion(
                asked.question(node, settings.id, settings.purpose).payload(), bytes(64)
            )
            signed.append(SignedQuestion(unsigned.payload, key.sign(unsigned.signed)).as_dict())
        return signed

    async def ready(self) -> None:
        """Refuse where nothing could be stored now."""
        await self.writer.run(lambda connection: connection.execute(text("SELECT 1")).all())

    async def sweep(self) -> None:
        """Delete what is older than the collection keeps it, and what is left in logs of what was deleted, again and again."""
        while True:
            # A database that cannot be used now is tried again, as everything is.
            with suppress(StoreError):
                await run_in_threadpool(self.collection.delete_expired)
                await run_in_threadpool(self.collection.database.wipe)
            await asyncio.sleep(SWEEP)


def create_app(collection: Collection, *, origins: Sequence[str] = (), pace: Pace | None = None) -> FastAPI:
    """The collector's application. Pages of other ``origins`` may call it only where they are named."""
    service = Service(collection, pace)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(service.sweep())
        yield
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await run_in_threadpool(service.writer.stop)

    # Its pages of documentation would load scripts from elsewhere; the description itself is at /openapi.json.
    app = FastAPI(
        title="graphveil collector",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    _handle_problems(app)
    _add_routes(app, service)
    add_lookups(app, collection, service.member)
    _describe(app)
    app.add_middleware(Counted, metrics=service.metrics)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    return app


def _add_routes(app: FastAPI, service: Service) -> None:
    collection, writer = service.collection, service.writer

    @app.get("/v1/collection", summary="What is collected, why, and at which cap")
    async def offer() -> dict[str, Any]:
        return {**collection.settings.offered, "key": collection.key.public.hex()}

    @app.post(
        "/v1/enrolment",
        status_code=201,
        summary="Take part, with a token that works once",
        responses=documented(401, 409, 413, 422, 503),
        openapi_extra=json_body(ToldEnrolment),
    )
    async def enrol(request: Request) -> Response:
        told = read_told(ToldEnrolment, await read_body(request, MAX_JSON + 8 * collection.settings.dims))
        agreed = told.agreement(collection.settings)
        # Whoever guesses tokens must not be in the way of those who write.
        if not await run_in_threadpool(service.invited, told.secret):
            raise ProblemError(
                401, "this token is not known: copy the whole of it, or ask whoever invited you"
            )
        member = await writer.run(
            lambda connection: roster.enrol(connection, collection.key, told.secret, agreed)
        )
        if member is None:
            raise ProblemError(
                409,
                "this token was used before: whoever used it is enrolled, ask for a new one if it was not you",
            )
        answer = {
            "collection": collection.settings.id,
            "pseudonym": member.pseudonym.hex(),
            "user": member.node,
            "credential": collection.key.credential(member.node, member.pseudonym),
            "key": collection.key.public.hex(),
        }
        return JSONResponse(answer, 201, PRIVATE)

    @app.get(
        "/v1/questions",
        summary="The signed questions that this device has not answered",
        responses=documented(401, 429, 503),
        openapi_extra=DEVICE,
    )
    async def questions(request: Request) -> Response:
        member = await service.member(request)
        return JSONResponse(await run_in_threadpool(service.questions, member.node), headers=PRIVATE)

    @app.put(
        "/v1/rounds/{round}/reports/{report}",
        status_code=201,
        summary="Send an answer; the same once more is the same",
        responses={
            200: {"description": "It was here already, the same bytes"},
            **documented(401, 404, 409, 410, 413, 422, 429, 503),
        },
        openapi_extra={
            **DEVICE,
            "parameters": ADDRESS,
            "requestBody": {
                "required": True,
                "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
            },
        },
    )
    async def send(request: Request) -> Response:
        round, report = read_address(request)
        member = await service.member(request)
        asked = await service.round(round)
        body = await read_body(request, asked.limit)
        try:
            envelope = Envelope.from_bytes(body, asked.limit)
            check_sender(envelope, report, member, asked)
            asked.check(envelope, member.node)
        except MessageError as error:
            raise ProblemError(422, str(error)) from None
        arrival = Arrival(round, member.node, bytes.fromhex(report), envelope.message)
        return acknowledge(await writer.store(arrival))

    @app.put(
        "/v1/row",
        status_code=201,
        summary="Give the raw row, as agreed to at enrolment",
        responses={
            200: {"description": "It was here already, the same row"},
            **documented(401, 403, 409, 413, 422, 429, 503),
        },
        openapi_extra={**DEVICE, **json_body(ToldRow)},
    )
    async def give_row(request: Request) -> Response:
        member = await service.member(request)
        dims = collection.settings.dims
        numbers = read_told(ToldRow, await read_body(request, MAX_JSON + BYTES_A_NUMBER * dims)).numbers(dims)
        outcome = await writer.run(lambda connection: store_row(connection, member.node, numbers))
        if outcome is Outcome.FORGOTTEN:
            raise ProblemError(403, "raw rows are taken from those alone who volunteered when they enrolled")
        return acknowledge(outcome)

    @app.delete(
        "/v1/me",
        status_code=204,
        summary="Be forgotten: what was sent is deleted, and what was learned with it is marked",
        responses=documented(401, 429, 503),
        openapi_extra=DEVICE,
    )
    async def forget(request: Request) -> Response:
        member = await service.member(request)
        await run_in_threadpool(service.questions, member.node)
        await writer.run(lambda connection: forgetting.forget(connection, member.node))
        await run_in_threadpool(collection.database.wipe)
        return Response(status_code=204)

    @app.get("/healthz", summary="Whether the process runs")
    async def health() -> dict[str, str]:
        return {"status": "running"}

    @app.get("/readyz", summary="Whether reports can be stored", responses=documented(503))
    async def ready() -> dict[str, str]:
        await service.ready()
        return {"status": "ready"}

    @app.get("/metrics", summary="Counts for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def check_sender(envelope: Envelope, report: str, member: Member, asked: AskedRound) -> None:
    """Refuse an envelope that is somebody else's, has another id than its address, or answers what was not asked."""
    if envelope.report != report:
        raise MessageError("the envelope has another report id than the address: send it to its own")
    if envelope.pseudonym != member.pseudonym.hex():
        raise MessageError("the envelope has another pseudonym than this device was given: send your own")
    if not asked.asks(member.node):
        raise MessageError("this round does not ask this device: GET /v1/questions says what does")


def acknowledge(outcome: Outcome) -> Response:
    """What a device is told, after it is durable."""
    if outcome is Outcome.STORED:
        return Response(status_code=201)
    if outcome is Outcome.AGAIN:
        return Response(status_code=200)
    if outcome is Outcome.OTHER:
        raise ProblemError(409, "something else was sent before, and counts: send the same again, or nothing")
    if outcome is Outcome.CLOSED:
        raise ProblemError(410, "this round is closed and takes no more reports: nothing needs to be done")
    raise unknown_credential()


def unknown_credential() -> ProblemError:
    return ProblemError(
        401,
        "this credential is not known: enrol with a token, or use that of the enrolment",
        {"WWW-Authenticate": "Bearer"},
    )


def _handle_problems(app: FastAPI) -> None:
    """Everything that is refused is told in one form."""

    @app.exception_handler(ProblemError)
    async def refused(_: Request, error: ProblemError) -> Response:
        return error.response()

    @app.exception_handler(StoreError)
    async def not_stored(_: Request, error: StoreError) -> Response:
        return problem_response(503, "nothing was stored: send the same again later", {"Retry-After": "5"})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        wrong = ["{}: {}".format(problem["loc"][-1], problem["msg"]) for problem in error.errors()[:3]]
        return problem_response(422, "; ".join(wrong))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        return problem_response(error.status_code, f"{error.detail}: see /openapi.json", error.headers)


def _describe(app: FastAPI) -> None:
    """OpenAPI, with how devices prove who they are."""
    described = app.openapi

    def with_security() -> dict[str, Any]:
        schema = described()
        parts = schema.setdefault("components", {})
        parts["securitySchemes"] = {"device": {"type": "http", "scheme": "bearer"}}
        parts["schemas"] = {**definitions(ToldEnrolment, ToldRow), **parts.get("schemas", {})}
        return schema

    app.__dict__["openapi"] = with_security
