"""The collector over HTTP: devices enrol, ask what they are asked, and send their answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from graphveil.collect.arrivals import ArrivalOutcome, store_row
from graphveil.collect.behind import Service, acknowledged
from graphveil.collect.bodies import ADDRESS, GoneError, read_address, read_body
from graphveil.collect.enrolling import MAX_JSON, PRIVATE, add_enrolling
from graphveil.collect.lookups import add_lookups
from graphveil.collect.memory import give_back_again_and_again
from graphveil.collect.messages import ToldEnrolment, ToldRow, definitions, json_body, read_told
from graphveil.collect.metrics import Counted
from graphveil.collect.operating import add_operating
from graphveil.collect.problems import ProblemError, documented, problem_response
from graphveil.collect.rate_limit import Pace
from graphveil.collect.storage import Collection
from graphveil.errors import StoreError
from graphveil.version import __version__

# A number of a row takes up to so many bytes.
BYTES_A_NUMBER = 40
OCTETS = "application/octet-stream"
DEVICE: dict[str, Any] = {"security": [{"device": []}]}
UNTRACED: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


class UploadRoute(APIRoute):
    """A route that FastAPI describes, and whose endpoint is given the request as it came."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint itself."""
        return self.endpoint


def create_app(collection: Collection, *, origins: Sequence[str] = (), pace: Pace | None = None) -> FastAPI:
    """The collector's application. Pages of other ``origins`` may call it only where they are named."""
    service = Service(collection, pace)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        housekeeping = [asyncio.create_task(work) for work in (service.sweep(), give_back_again_and_again())]
        yield
        for task in housekeeping:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await run_in_threadpool(service.stop)

    # Its pages of documentation would load scripts from elsewhere; the description itself is at /openapi.json.
    app = FastAPI(
        title="graphveil collector",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Traces would hold paths, with the ids of reports, beside addresses.
        telemetry=UNTRACED,
        lifespan=lifespan,
    )
    app.state.service = service
    _handle_problems(app, service)
    _add_routes(app, service)
    add_enrolling(app, service)
    add_lookups(app, collection, service.member)
    add_operating(app, collection)
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

    async def send(request: Request) -> Response:
        round, report = read_address(request.path_params["round"], request.path_params["report"])
        return Response(status_code=await service.take(round, report, request.headers.raw, request.receive))

    # First, because routes are tried in their order, and uploads are nearly all that a collector is asked.
    app.router.add_api_route(
        "/v1/rounds/{round}/reports/{report}",
        send,
        methods=["PUT"],
        route_class_override=UploadRoute,
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

    @app.get("/v1/collection", summary="What is collected, why, and at which cap")
    async def offer() -> dict[str, Any]:
        versions = await run_in_threadpool(lambda: collection.versions)
        people = versions[max(versions)]
        return {**collection.settings.offered, "people": people, "key": collection.key.public.hex()}

    @app.get(
        "/v1/questions",
        summary="The signed questions that this device has not answered",
        responses=documented(401, 429, 503),
        openapi_extra=DEVICE,
    )
    async def questions(request: Request) -> Response:
        member = await service.member(request.headers.raw)
        return JSONResponse(await run_in_threadpool(service.questions, member.node), headers=PRIVATE)

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
        member = await service.member(request.headers.raw)
        dims = collection.settings.dims
        body = await read_body(request.headers.raw, request.receive, MAX_JSON + BYTES_A_NUMBER * dims)
        numbers = read_told(ToldRow, body).numbers(dims)
        outcome = await writer.run(lambda connection: store_row(connection, member.node, numbers))
        if outcome is ArrivalOutcome.FORGOTTEN:
            raise ProblemError(403, "raw rows are taken from those alone who volunteered when they enrolled")
        return Response(status_code=acknowledged(outcome))

    @app.delete(
        "/v1/me",
        status_code=204,
        summary="Be forgotten: what was sent is deleted, and what was learned with it is marked",
        responses=documented(401, 429, 503),
        openapi_extra=DEVICE,
    )
    async def forget(request: Request) -> Response:
        member = await service.member(request.headers.raw)
        await service.forget(member.node)
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


def _handle_problems(app: FastAPI, service: Service) -> None:
    """Everything that is refused is told in one form."""

    @app.exception_handler(ProblemError)
    async def refused(_: Request, error: ProblemError) -> Response:
        return error.response()

    @app.exception_handler(StoreError)
    async def unusable(_: Request, error: StoreError) -> Response:
        return service.unusable(error)

    @app.exception_handler(GoneError)
    async def gone(_: Request, error: GoneError) -> Response:
        return problem_response(400, "the request ended before all of it was here: send it again")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        wrong = ["{}: {}".format(problem["loc"][-1], problem["msg"]) for problem in error.errors()[:3]]
        return problem_response(422, "; ".join(wrong))

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> Response:
        # The log has the rest: whoever asks is told nothing of it.
        return problem_response(
            500, "the collector cannot do this now: send the same again later, and tell whoever runs it"
        )

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        return problem_response(error.status_code, f"{error.detail}: see /openapi.json", error.headers)


def _describe(app: FastAPI) -> None:
    """OpenAPI, with how devices and operators prove who they are."""
    described = app.openapi

    def with_security() -> dict[str, Any]:
        schema = described()
        parts = schema.setdefault("components", {})
        by_token = {"type": "http", "scheme": "bearer"}
        parts["securitySchemes"] = {"device": by_token, "operator": by_token}
        parts["schemas"] = {**definitions(ToldEnrolment, ToldRow), **parts.get("schemas", {})}
        return schema

    app.__dict__["openapi"] = with_security
