"""Requests that no device sends: mutated envelopes and messages, JSON that is nearly right, addresses and headers of all kinds."""

import asyncio
import json
import random
import zlib
from collections import Counter
from dataclasses import dataclass, field

from graphveil.collect.asking import AskedRound
from graphveil.collect.keys import word
from graphveil.privacy.envelope import HEADER, Envelope
from tests.collect.campaign import HOST, Collector, exchange, prepare

# The share of requests after which the collector has allocated what it keeps.
WARM = 0.2
CONNECTIONS = 8
ODD = [None, True, -1, 0, 1e308, -0.0, 2**63, 2**200, "", "x" * 300, "é\u0000", [], [[]], {}, {"a": 1}, "NaN"]
FIELDS = {
    "/v1/enrolment": {
        "token": "A" * 22,
        "cap": {"epsilon": 1.0, "delta": 0.0},
        "excluded": [1],
        "volunteer": False,
    },
    "/v1/row": {"values": [0.5] * 8},
}
PATHS = [
    "/",
    "/v1",
    "/v1/collection",
    "/v1/questions",
    "/v1/me/",
    "/metrics",
    "/readyz",
    "/openapi.json",
    "/%00",
    "/v1/../key",
]


@dataclass
class Fuzzed:
    """What came back: how often each status, and by how many megabytes the collector grew after it was warm."""

    statuses: Counter = field(default_factory=Counter)
    grown: float = 0.0


class Fuzzer:
    """Makes requests by seed."""

    def __init__(self, collection, opened, reports, seed):
        self._draw, self._number = random.Random(seed), opened.number
        roster, asked = collection.roster(), AskedRound(opened)
        self._people = [
            (
                collection.key.credential(node, roster.pseudonym[node]),
                Envelope(
                    random.Random(node).randbytes(16).hex(),
                    roster.pseudonym[node].hex(),
                    asked.digest(node),
                    reports.row(node).to_bytes(),
                ),
            )
            for node in range(reports.users)
        ]

    def request(self):
        """The next request, as bytes of HTTP/1.1."""
        kind = self._draw.random()
        if kind < 0.6:
            return self._envelope()
        if kind < 0.8:
            return self._json()
        return self._other()

    def _envelope(self):
        draw = self._draw
        credential, envelope = draw.choice(self._people)
        message = envelope.message
        if draw.random() < 0.7:
            message = self._mutated(message)
            if len(message) > 4 and draw.random() < 0.7:
                message = message[:-4] + zlib.crc32(message[:-4]).to_bytes(4, "little")
        body = Envelope(envelope.report, envelope.pseudonym, envelope.digest, message).to_bytes()
        if draw.random() < 0.4:
            body = self._mutated(body)
            if len(body) > HEADER.size and draw.random() < 0.5:
                body = body[:-4] + zlib.crc32(body[:-4]).to_bytes(4, "little")
        report = (
            envelope.report
            if draw.random() < 0.9
            else draw.choice(["0" * 32, "Z" * 32, "..", "%2e", "a" * 500])
        )
        number = self._number if draw.random() < 0.9 else draw.choice([0, -1, 2, 10**9, "x", "1.0", "%31"])
        return self._http("PUT", f"/v1/rounds/{number}/reports/{report}", body, credential)

    def _json(self):
        draw = self._draw
        path = draw.choice(list(FIELDS))
        told = json.loads(json.dumps(FIELDS[path]))
        for _ in range(draw.randrange(3)):
            told[draw.choice([*told, "extra"])] = draw.choice(ODD)
        body = json.dumps(told).encode()
        if path == "/v1/enrolment" and draw.random() < 0.3:
            body = body.replace(b"A" * 22, word(draw.randbytes(16)).encode())
        if draw.random() < 0.3:
            body = self._mutated(body)
        method = "POST" if path == "/v1/enrolment" else "PUT"
        return self._http(method, path, body, draw.choice(self._people)[0])

    def _other(self):
        draw = self._draw
        method = draw.choice(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"])
        credential = draw.choice(["", "x", "A" * 70, "ä" * 9, draw.choice(self._people)[0]])
        if method == "DELETE":
            credential = credential[:-1]
        return self._http(method, draw.choice(PATHS), draw.randbytes(draw.randrange(40)), credential)

    def _mutated(self, data):
        """The bytes with a bit turned, cut, longer, or a part of them said twice."""
        draw = self._draw
        at, how = draw.randrange(len(data)) if data else 0, draw.randrange(5)
        if how == 0 and data:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        if how == 1:
            return data[:at]
        if how == 2:
            return data[:at] + draw.randbytes(draw.choice([1, 4, 5000])) + data[at:]
        if how == 3:
            return data[:at] + draw.randbytes(4) + data[at + 4 :]
        return data[:at] + data[draw.randrange(len(data) + 1) :]

    def _http(self, method, path, body, credential):
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {credential}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1", "replace") + body


async def send_fuzzed(fuzzer, count, port, seen):
    """Send so many requests over one connection, which is opened again whenever the collector closes it."""
    reader = writer = None
    for _ in range(count):
        data = fuzzer.request()
        for _attempt in range(50):
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection(HOST, port)
                told = await exchange(reader, writer, data, body=not data.startswith(b"HEAD"))
                break
            except (OSError, asyncio.IncompleteReadError):
                told, writer = None, None
                await asyncio.sleep(0.05)
        assert told is not None, "the collector does not answer"
        seen.statuses[told[0]] += 1
        if told[1]:
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


def fuzz_for(folder, requests, users=500, database=None, fork=False):
    """Send so many requests to a collector in a process of its own; what came back, and how far it grew."""
    collection, opened, reports = prepare(folder, database, users)
    fuzzers = [Fuzzer(collection, opened, reports, seed) for seed in range(CONNECTIONS)]
    collection.database.close()
    collector, seen = Collector(folder, fork), Fuzzed()

    async def part(count):
        share = -(-count // CONNECTIONS)
        await asyncio.gather(*(send_fuzzed(fuzzer, share, collector.port, seen) for fuzzer in fuzzers))

    collector.start()
    try:
        collector.wait()
        asyncio.run(part(int(WARM * requests)))
        before = collector.resident_megabytes()
        asyncio.run(part(requests - int(WARM * requests)))
        seen.grown = collector.resident_megabytes() - before
    finally:
        collector.kill()
    return seen
