"""The collector over HTTP: devices enrol, ask what they are asked, and send their answers."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from graphveil.collect.metrics import RequestCounter
from graphveil.collect.problems import ProblemError, problem_response
from graphveil.collect.requests import GoneError
from graphveil.collect.routes import add_device_routes, add_operator_routes, add_probes
from graphveil.collect.service import RateLimit, Service
from graphveil.collect.storage import Collection
from graphveil.errors import StoreError
from graphveil.version import __version__

# Seconds between two times that memory is given back.
EVERY = 60.0
# What is wrong with a request is said of so many of its fields.
MAX_PROBLEMS = 3
# Errors whose place ends in what was sent: a name that there is not, or where JSON ends.
SENT_NAMES = ("extra_forbidden", "json_invalid")
UNTRACED: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create_app(
    collection: Collection, *, origins: Sequence[str] = (), rate_limit: RateLimit | None = None
) -> FastAPI:
    """Return the collector's application.

    Parameters
    ----------
    collection
        What reports are stored in.
    origins
        Origins of other pages that may call it; none by default.
    rate_limit
        How fast one credential may send; the usual limit by default.
    """
    service = Service(collection, rate_limit)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        housekeeping = [asyncio.create_task(work) for work in (service.sweep(), trim_memory())]
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
    add_device_routes(app, service)
    add_operator_routes(app, collection)
    add_probes(app, service)
    app.add_middleware(RequestCounter, metrics=service.metrics)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    return app


def _handle_problems(app: FastAPI, service: Service) -> None:
    """Everything that is refused is told in one form."""

    @app.exception_handler(ProblemError)
    async def refused(_: Request, error: ProblemError) -> Response:
        return problem_response(error.status, error.detail, error.headers)

    @app.exception_handler(StoreError)
    async def unusable(_: Request, error: StoreError) -> Response:
        return service.unusable(error)

    @app.exception_handler(GoneError)
    async def gone(_: Request, error: GoneError) -> Response:
        return problem_response(400, "the request ended before all of it was here: send it again")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        wrong = []
        for problem in error.errors()[:MAX_PROBLEMS]:
            # Where it is wrong, and never what stands there.
            place = problem["loc"][1:-1] if problem["type"] in SENT_NAMES else problem["loc"][1:]
            wrong.append(f"{'.'.join(map(str, place)) or 'the body'}: {problem['msg']}")
        return problem_response(422, "; ".join(wrong))

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> Response:
        # The log has the rest; the client learns nothing of it.
        return problem_response(
            500, "the collector cannot do this now: send the same again later, and tell whoever runs it"
        )

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        return problem_response(error.status_code, f"{error.detail}: see /openapi.json", error.headers)


async def trim_memory(every: float = EVERY) -> None:
    """Give back what is free, once a minute: bodies of all sizes leave holes between what is used, which the C library keeps."""
    trim = memory_trimmer()
    while trim is not None:
        await asyncio.sleep(every)
        await run_in_threadpool(trim, 0)


def memory_trimmer() -> Callable[[int], int] | None:
    """The C library's own way to give memory back; None where it has none, as only glibc does."""
    if sys.platform != "linux":
        return None
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return trim
