"""Metrics for Prometheus: numbers of requests, reports and commits; nothing about any person."""

from __future__ import annotations

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "graphveil_requests",
            "Requests by route and status.",
            ["route", "status"],
            registry=self._registry,
        )
        self._reports = Counter("graphveil_reports_stored", "Reports stored.", registry=self._registry)
        self._batch = Histogram(
            "graphveil_commit_reports", "New reports a commit.", buckets=BATCHES, registry=self._registry
        )
        self._seconds = Histogram(
            "graphveil_commit_seconds", "Seconds that a commit took.", registry=self._registry
        )
        self._counted = lru_cache(maxsize=256)(self._requests.labels)

    def answered(self, route: str, status: int) -> None:
        """A request was answered."""
        self._counted(route, str(status)).inc()

    def committed(self, count: int, seconds: float) -> None:
        """So many new reports became durable, in so many seconds."""
        self._reports.inc(count)
        self._batch.observe(count)
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class RequestCounter:
    """Counts what an application answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                # The pattern of the path: a path itself holds a report's id.
                route = getattr(scope.get("route"), "path", "none")
                self._metrics.answered(route, message["status"])
            await send(message)

        await self._app(scope, receive, counting)
