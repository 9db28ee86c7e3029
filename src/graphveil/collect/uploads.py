"""Uploads, ahead of everything that a framework does for a request: they are nearly all that a collector is asked.

What has the form of an upload is answered here. Whatever has not goes on to the application, whose route says what is wrong with it.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from graphveil.collect.behind import Service
from graphveil.collect.bodies import REPORT_FORM, ROUND_FORM, GoneError
from graphveil.collect.problems import ProblemError
from graphveil.errors import StoreError

ROUTE = "/v1/rounds/{round}/reports/{report}"
FORM = re.compile(f"/v1/rounds/({ROUND_FORM.pattern})/reports/({REPORT_FORM.pattern})")
# What is said after a report is durable: the status alone.
NOTHING = (b"content-length", b"0")


class Uploads:
    """Answers uploads, counts them, and hands everything else on."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "PUT":
            return await self._app(scope, receive, send)
        named = FORM.fullmatch(scope["path"])
        if named is None:
            return await self._app(scope, receive, send)
        service = self._service
        try:
            status = await service.take(int(named[1]), named[2], scope["headers"], receive)
        except GoneError:
            return None
        except (ProblemError, StoreError) as error:
            refused = error.response() if isinstance(error, ProblemError) else service.unusable(error)
            service.metrics.answered(ROUTE, refused.status_code)
            return await refused(scope, receive, send)
        service.metrics.answered(ROUTE, status)
        # Made anew for everybody: whoever allows pages of other origins adds headers to it.
        await send({"type": "http.response.start", "status": status, "headers": [NOTHING]})
        await send({"type": "http.response.body", "body": b""})
