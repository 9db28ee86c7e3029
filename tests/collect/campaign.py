"""Many uploads to a collector that is killed at random moments: nothing that was acknowledged may be lost, nothing is there twice.

Uploads go over real sockets of this machine. A connection that breaks says nothing, so what was sent over it is sent again.
"""

import asyncio
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import select

from graphveil.channels.sampling import SeededBits
from graphveil.collect.rounds import AskedRound
from graphveil.collect.schema import REPORTS, ROSTER
from graphveil.collect.server import listening_at, serve
from graphveil.collect.storage import open_collection
from graphveil.mechanisms import Reports
from graphveil.privacy.credential import credential_hash
from graphveil.privacy.envelope import Envelope
from tests.collect.small import DIMS, PLAN, later, made

HOST = "127.0.0.1"
# Nothing takes so long, be the machine ever so busy; whoever waits longer says so.
PATIENCE = 120.0


@dataclass(frozen=True)
class Upload:
    """One envelope, to be sent until it is answered."""

    node: int
    request: bytes
    kind: str


@dataclass
class Seen:
    """What the senders were told."""

    acknowledged: set[int] = field(default_factory=set)
    statuses: Counter = field(default_factory=Counter)
    done: int = 0
    broken: int = 0


def credential_of(node):
    """A credential that only a test would use."""
    return f"{node:043d}"


def prepare(folder, database, users, seed=0):
    """A collection in which everybody is enrolled and one round is open; and everybody's message."""
    collection = made(folder, users, database=database)
    agreed = {"epsilon": 2.0, "delta": 0.0, "excluded": "[]", "volunteer": False}
    people = collection.invite()
    with collection.database.writing() as connection:
        for each in people:
            told = {**agreed, "credential": credential_hash(credential_of(each.node))}
            connection.execute(ROSTER.update().where(ROSTER.c.node == each.node).values(**told))
    opened = collection.publish(PLAN, later(86_400))
    rows = np.random.default_rng(seed).random((users, DIMS))
    reports = PLAN.build().randomize(rows, SeededBits(seed))
    return collection, opened, reports


def uploads_of(collection, opened, reports, duplicates, damaged, seed=0):
    """Everybody's upload, some of them twice and some damaged before, in random order."""
    draw, roster, asked = random.Random(seed), collection.roster(), AskedRound(opened)
    fresh = []
    for node in range(reports.users):
        report = draw.randbytes(16).hex()
        envelope = Envelope(
            report, roster.pseudonym[node].hex(), asked.digest(node), reports.row(node).to_bytes()
        )
        fresh.append((node, report, credential_of(node), envelope.to_bytes()))
    whole = [Upload(node, request(opened.number, *rest), "fresh") for node, *rest in fresh]
    again = [Upload(each.node, each.request, "duplicate") for each in draw.sample(whole, duplicates)]
    broken = []
    for node, report, credential, body in draw.choices(fresh, k=damaged):
        at = draw.randrange(len(body))
        turned = body[:at] + bytes([body[at] ^ 1 << draw.randrange(8)]) + body[at + 1 :]
        harmed = draw.choice([body[:at], turned])
        broken.append(Upload(node, request(opened.number, report, credential, harmed), "damaged"))
    everything = whole + again + broken
    draw.shuffle(everything)
    return everything


def request(number, report, credential, body):
    head = (
        f"PUT /v1/rounds/{number}/reports/{report} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {credential}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Collector:
    """A collector in a process of its own, which can be killed and started again."""

    def __init__(self, folder, fork=True, log=os.devnull):
        """``log`` is the file that what it says of itself goes to, where it is not a fork of this process."""
        self._folder, self._fork, self._log, self._child = folder, fork, log, None
        with socket.socket() as found:
            found.bind((HOST, 0))
            self.port = found.getsockname()[1]

    def start(self):
        if self._fork:
            self._child = os.fork()
            if self._child == 0:
                self._serve()
        else:
            words = ["-m", "graphveil", "collect", "serve", str(self._folder), "--port", str(self.port)]
            # By its number alone: an object that nobody waits for would complain.
            silent = [(os.POSIX_SPAWN_OPEN, 2, self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
            self._child = os.posix_spawn(
                sys.executable, [sys.executable, *words], os.environ, file_actions=silent
            )

    def wait(self):
        """Wait until it listens."""
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            with suppress(OSError), socket.create_connection((HOST, self.port)):
                return
            time.sleep(0.05)
        raise AssertionError("the collector does not start")

    def _serve(self):
        """The child's life; nothing of the parent runs in it after."""
        try:
            serve(open_collection(self._folder), listening_at(HOST, self.port))
        finally:
            os._exit(0)

    def kill(self):
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)

    def resident_megabytes(self):
        with open(f"/proc/{self._child}/status") as file:
            (line,) = [line for line in file if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


async def exchange(reader, writer, data, body=True):
    """The status of one request on an open connection."""
    writer.write(data)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    lengths = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
    if body and lengths and lengths[0]:
        await reader.readexactly(lengths[0])
    return int(head.split(b" ")[1]), "connection: close" in lines


async def send_all(uploads, port, seen):
    """One connection's share: send each until it is answered."""
    reader = writer = None
    for upload in uploads:
        begun = time.monotonic()
        while True:
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection(HOST, port)
                status, closing = await exchange(reader, writer, upload.request)
            except (OSError, asyncio.IncompleteReadError):
                status, closing = None, True
            if closing and writer is not None:
                writer.close()
                reader = writer = None
            if status is not None:
                break
            seen.broken += 1
            assert time.monotonic() - begun < PATIENCE, "the collector does not come back"
            await asyncio.sleep(0.02)
        if status in (200, 201):
            seen.acknowledged.add(upload.node)
        seen.statuses[upload.kind, status] += 1
        seen.done += 1
    if writer is not None:
        writer.close()


def stored_nodes(collection):
    with collection.database.reading() as connection:
        return list(connection.execute(select(REPORTS.c.node)).scalars())


async def kill_at(moments, collector, collection, seen):
    """Kill the collector when so many uploads are done, look, and start it again."""
    for moment in sorted(moments):
        while seen.done < moment:
            await asyncio.sleep(0.002)
        collector.kill()
        told, stored = set(seen.acknowledged), stored_nodes(collection)
        # What was acknowledged before the kill may be read only after it: nothing but what is stored can come.
        collector.start()
        assert told <= set(stored), "what was acknowledged is lost"
        assert len(stored) == len(set(stored)), "a report is there twice"


def run_campaign(folder, database, *, users, duplicates, damaged, connections, kills, seed=0, fork=True):
    """A whole campaign; what the senders saw."""
    collection, opened, reports = prepare(folder, database, users, seed)
    uploads = uploads_of(collection, opened, reports, duplicates, damaged, seed)
    # Connections are not taken into another process.
    collection.database.close()
    moments = random.Random(seed + 1).sample(range(len(uploads) // 20, len(uploads) * 19 // 20), kills)
    collector, seen = Collector(folder, fork), Seen()

    async def campaign():
        shares = [uploads[place::connections] for place in range(connections)]
        sending = (send_all(share, collector.port, seen) for share in shares)
        await asyncio.gather(kill_at(moments, collector, collection, seen), *sending)

    collector.start()
    try:
        asyncio.run(campaign())
    finally:
        collector.kill()
    check(collection, opened, reports, seen, duplicates, damaged)
    return seen


def check(collection, opened, reports, seen, duplicates, damaged):
    """All that was acknowledged is there, once, as it was sent; nothing that was damaged is."""
    assert seen.acknowledged == set(range(reports.users))
    for kind, status in seen.statuses:
        assert status in ((422,) if kind == "damaged" else (200, 201)), (kind, status)
    assert sum(seen.statuses.values()) == reports.users + duplicates + damaged
    assert sorted(stored_nodes(collection)) == list(range(reports.users))
    collection.close(opened.number)
    assert collection.reports(opened.number) == Reports(
        reports.mechanism, reports.indptr, reports.dims, reports.codes
    )
    collection.database.close()


if __name__ == "__main__":
    folder, users = sys.argv[1], int(sys.argv[2])
    counts = {
        "users": users,
        "duplicates": users // 8,
        "damaged": users // 17,
        "connections": 64,
        "kills": 10,
    }
    told = run_campaign(folder, None, **counts, fork=False)
    print(told.statuses, told.broken)
