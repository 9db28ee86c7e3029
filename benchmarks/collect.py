"""The collector: uploads against a bare FastAPI endpoint, memory over many reports, and reading reports back.

Uploads go over real sockets of this machine, 64 connections at a time, to a server in a process of its own. The bare one checks
nothing: it keeps the bytes and writes all of them in one batch to the same kind of database. Their time is what a clock shows, from
the first byte to the last acknowledgement, for the collector also waits for the disk; the server's processor time stands beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from sqlalchemy import text
from starlette.responses import Response

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from graphveil.channels import SeededBits
from graphveil.collect.app import UNTRACED
from graphveil.collect.database import Database
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.public_graph import PublicGraph
from graphveil.collect.report_bytes import read_messages
from graphveil.collect.rounds import AskedRound
from graphveil.collect.schema import ROSTER
from graphveil.collect.server import IDLE, listening_at, serve
from graphveil.collect.storage import Collection, create_collection, open_collection
from graphveil.collect.writer import Arrival, Writer
from graphveil.mechanisms import Reports
from graphveil.privacy import Plan
from graphveil.privacy.credential import credential_hash
from graphveil.privacy.envelope import Envelope

# At least half of the throughput, no growth to speak of, and reading at least 50 times as fast.
UPLOAD_TARGET, MEMORY_TARGET, READING_TARGET = 2.0, 1.1, 1 / 50
HOST, CONNECTIONS = "127.0.0.1", 64
# How often both servers are measured; of the reports in memory, the share that comes before the first look.
TURNS, WARM = 5, 0.2
PLAN = Plan(mechanism="multibit", epsilon=1.0, dims=64, range=(0, 1))
SEED, EXPIRES = 0, 1 << 33


def run(sizes: Sizes) -> list[Result]:
    """Uploads, memory, reading."""
    return [*uploads(sizes.users), memory(sizes.users, sizes.draws // 10), *reading(sizes)]


def uploads(users: int) -> list[Result]:
    """Seconds until all uploads are acknowledged and durable, ours and the bare endpoint's."""
    times: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    for _ in range(TURNS):
        for side, taken in times.items():
            with _folder() as folder:
                taken.append(_uploaded(side, folder, users))
    case, reference = f"{users:,} uploads, {CONNECTIONS} connections", "bare FastAPI, one batch"
    return [
        Result(
            "collect",
            f"{case}: {what}",
            reference,
            "s",
            min(each[place] for each in times["ours"]),
            min(each[place] for each in times["bare"]),
            target,
            median(
                ours[place] / bare[place] for ours, bare in zip(times["ours"], times["bare"], strict=True)
            ),
        )
        for place, (what, target) in enumerate(
            {"time": UPLOAD_TARGET, "processor of the server": None}.items()
        )
    ]


def memory(users: int, reports: int) -> Result:
    """The collector's resident memory after all reports, against that after the first of them."""
    with _folder() as folder:
        command = [
            sys.executable,
            "-m",
            "benchmarks.collect",
            "memory",
            str(folder),
            str(users),
            str(reports),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
        )
    before, after = json.loads(done.stdout)
    return Result(
        "collect", f"{reports:,} reports: memory", f"{WARM:.0%} of them", "MB", after, before, MEMORY_TARGET
    )


def reading(sizes: Sizes) -> list[Result]:
    """Messages into `Reports`, all at once against one by one; and the same out of the database."""
    with _folder() as folder:
        collection, opened, reports = prepared(folder, sizes.users)
        messages = [reports.row(user).to_bytes() for user in range(sizes.users)]
        _fill(collection, messages)
        places = np.arange(sizes.users)
        mechanism = PLAN.build()

        def all_at_once() -> object:
            return read_messages(mechanism, places, messages, sizes.users)

        def one_by_one() -> object:
            return Reports.join([Reports.from_bytes(message, mechanism) for message in messages])

        def from_database() -> object:
            return collection.reports(opened.number)

        def one_by_one_from_database() -> object:
            chosen = text("SELECT message FROM reports WHERE round = 1 AND node = :node")
            with collection.database.reading() as connection:
                return Reports.join(
                    [
                        Reports.from_bytes(connection.execute(chosen, {"node": node}).scalar_one(), mechanism)
                        for node in range(sizes.users)
                    ]
                )

        calls: dict[str, Call] = {
            "one by one": one_by_one,
            "all": all_at_once,
            "one by one, database": one_by_one_from_database,
            "all, database": from_database,
        }
        timings = interleaved(calls, min(sizes.repetitions, TURNS))
        collection.database.close()
    return [
        Result(
            "collect",
            f"{sizes.users:,} messages into reports{where}",
            "one by one",
            "s",
            timings.best(f"all{where}"),
            timings.best(f"one by one{where}"),
            READING_TARGET,
            timings.median_ratio(f"all{where}", f"one by one{where}"),
        )
        for where in ("", ", database")
    ]


def prepared(folder: Path, users: int) -> tuple[Collection, Any, Reports]:
    """A collection in which everybody is enrolled and one round is open, and everybody's report."""
    numbers = np.arange(users)
    public = PublicGraph(
        np.stack([numbers, (numbers + 1) % users], axis=1), numbers % 2, numbers.astype(np.str_)
    )
    settings = CollectionSettings("", "a benchmark", 1e6, dims=PLAN.dims or 0, range=(0.0, 1.0))
    collection = create_collection(folder / "collection", public, settings)
    invited = collection.invite()
    told = {"epsilon": 1e6, "delta": 0.0, "excluded": "[]", "volunteer": False}
    with collection.database.writing() as connection:
        for each in invited:
            credential = credential_hash(credential_of(each.node))
            connection.execute(
                ROSTER.update().where(ROSTER.c.node == each.node).values(credential=credential, **told)
            )
    rows = np.random.default_rng(SEED).random((users, PLAN.dims or 0))
    return collection, collection.publish(PLAN, EXPIRES), PLAN.build().randomize(rows, SeededBits(SEED))


def credential_of(node: int) -> str:
    """Return a credential that only a benchmark would use."""
    return f"{node:043d}"


def _fill(collection: Collection, messages: Sequence[bytes]) -> None:
    rows = [
        {"node": node, "report": node.to_bytes(16, "big"), "message": message}
        for node, message in enumerate(messages)
    ]
    with collection.database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO reports (round, node, report, message, day) VALUES (1, :node, :report, :message, 1)"
            ),
            rows,
        )
    collection.close(1)


def _uploaded(side: str, folder: Path, users: int) -> tuple[float, float]:
    """Seconds on the wall and of the server's processor until everybody's upload is acknowledged, and written."""
    collection, opened, reports = prepared(folder, users)
    roster, asked = collection.roster(), AskedRound(opened)
    requests = []
    for node in range(users):
        report = node.to_bytes(16, "big").hex()
        digest, name = asked.digest(node), roster.pseudonym[node]
        body = Envelope(report, name.hex(), digest, reports.row(node).to_bytes()).to_bytes()
        requests.append(_request(f"/v1/rounds/1/reports/{report}", body, credential_of(node)))
    collection.database.close()
    with socket.socket() as found:
        found.bind((HOST, 0))
        port = found.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.collect", side, str(folder), str(port)])
    try:
        asyncio.run(_sent([_request("/healthz", b"", "", "GET")], port))
        before, begun = _processor(server.pid), time.perf_counter()
        asyncio.run(_sent(requests, port))
        if side == "bare":
            asyncio.run(_sent([_request("/written", b"", "")], port))
        return time.perf_counter() - begun, _processor(server.pid) - before
    finally:
        server.terminate()
        server.wait()


def _request(path: str, body: bytes, credential: str, method: str = "PUT") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {credential}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _sent(requests: Sequence[bytes], port: int) -> None:
    """Send all requests, over some connections; each must be answered with a status below 300."""

    async def share(own: Sequence[bytes]) -> None:
        reader, writer = await _connected(port)
        for request in own:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 2"):
                raise RuntimeError(f"refused: {head!r}")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
        writer.close()

    places = range(min(CONNECTIONS, len(requests)))
    await asyncio.gather(*(share(requests[place::CONNECTIONS]) for place in places))


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(1200):
        with suppress(OSError):
            return await asyncio.open_connection(HOST, port)
        await asyncio.sleep(0.05)
    raise RuntimeError("the server does not start")


def _processor(process: int) -> float:
    """Seconds of processor time that a process has taken, user and system."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="graphveil-collect-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve_bare(folder: Path, port: int) -> None:
    """An endpoint that keeps bytes, and one that writes all of them at once.

    It has all that makes ours cheaper but ours: the same settings of uvicorn, no traces, and no parameter that FastAPI would read.
    """
    app, kept = FastAPI(telemetry=UNTRACED), list[dict[str, Any]]()
    (folder / "bare.sqlite").touch()
    database = Database(f"sqlite:///{folder / 'bare.sqlite'}")
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB)"))

    @app.put("/v1/rounds/{round}/reports/{report}", status_code=201)
    async def keep(request: Request) -> Response:
        kept.append({"body": await request.body()})
        return Response(status_code=201)

    @app.put("/written")
    async def write() -> Response:
        with database.writing() as connection:
            connection.execute(text("INSERT INTO bodies (body) VALUES (:body)"), kept)
        return Response()

    @app.get("/healthz")
    async def health() -> Response:
        return Response()

    uvicorn.run(
        app,
        host=HOST,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
    )


def grown(folder: Path, users: int, reports: int) -> tuple[float, float]:
    """Resident megabytes after the first reports and after all, in as many rounds as they take."""
    collection, _, answers = prepared(folder, users)
    messages = [answers.row(user).to_bytes() for user in range(users)]
    rounds = -(-reports // users)
    for number in range(2, rounds + 1):
        collection.publish(replace_round(number), EXPIRES)
    first = max(1, int(WARM * rounds))

    async def stored() -> tuple[float, float]:
        writer, before = Writer(collection.database), 0.0
        for number in range(1, rounds + 1):
            for start in range(0, users, CONNECTIONS):
                nodes = range(start, min(start + CONNECTIONS, users))
                arrivals = [
                    Arrival(number, node, (number * users + node).to_bytes(16, "big"), messages[node])
                    for node in nodes
                ]
                await asyncio.gather(*(writer.store(each) for each in arrivals))
            if number == first:
                before = _resident()
        writer.stop()
        return before, _resident()

    return asyncio.run(stored())


def replace_round(number: int) -> Plan:
    """The same plan for a later round."""
    return PLAN.model_copy(update={"round": number})


def _resident() -> float:
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) / 1000


if __name__ == "__main__":
    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "memory":
        print(json.dumps(grown(place, int(sys.argv[3]), int(sys.argv[4]))))
    elif what == "bare":
        serve_bare(place, int(sys.argv[3]))
    else:
        serve(open_collection(place / "collection"), listening_at(HOST, int(sys.argv[3])))
