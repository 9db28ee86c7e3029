"""Requests that no device sends, made by seed: mutated envelopes, JSON that is nearly right, addresses, headers and framing of all kinds.

Most of them are nearly right: they come with somebody's credential and are wrong in one place, so that they get as far as they can.
"""

import json
import random
import zlib
from dataclasses import dataclass

import numpy as np

from graphveil.channels.sampling import SeededBits
from graphveil.collect import roster
from graphveil.collect.keys import word
from graphveil.mechanisms import NeighbourLists
from graphveil.mechanisms.reports import HEADER as MESSAGE_HEADER
from graphveil.privacy import Ledger, Plan, answer
from graphveil.privacy.credential import credential_hash
from graphveil.privacy.envelope import HEADER, Envelope
from graphveil.privacy.plan import plan_digest
from tests.collect.campaign import credential_of
from tests.collect.small import DIMS, PLAN, later, made

HOST = "127.0.0.1"
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=2, round=2)
# Who is asked by a round that does not ask everybody, who may be forgotten, and who sends much more than the others.
FEW, EXPENDABLE, WILD = range(10), range(10, 14), 14
# An answer to strange headers may not come, and one to half a request mostly does not.
ODD_PATIENCE, BROKEN_PATIENCE = 1.0, 0.1
METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW", "put", "X" * 300]
KNOWN = [
    "/v1/collection",
    "/v1/enrolment",
    "/v1/questions",
    "/v1/people",
    "/v1/keys",
    "/v1/row",
    "/v1/credential",
    "/v1/me",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
]
# What an operator does has no address; neither have files, nor pages that frameworks bring.
UNKNOWN = [
    "/",
    "*",
    "/v1",
    "/v1/",
    "/v1/rounds",
    "/v1/rounds/1",
    "/v1/rounds/1/close",
    "/v1/rounds/1/reports",
    "/v1/roster",
    "/v1/invite",
    "/v1/export",
    "/v1/results/1",
    "/admin",
    "/docs",
    "/redoc",
    "/key",
    "/collection.sqlite",
    "/.env",
    "/static/../key",
]
TRICKS = [
    "/..",
    "/../key",
    "/%2e%2e/key",
    "//",
    "/%00",
    ";a=b",
    "/%ff%fe",
    "%0d%0aX:%20y",
    "/é",
    "?a=1&a=2",
    "?%",
    "#x",
]
ODD = [
    *(None, True, -1, 0, 1e308, 5e-324, -0.0, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.1, "", "1", "NaN"),
    *("x" * 300, "é\u0000", "\ud800", "\u202e", "١", "💥" * 50, [], [[]], [None], [0] * 2000, {}),
    {"a": {"a": 1}},
]
RAW = [
    b"",
    b"{",
    b"null",
    b"[" * 20_000,
    b'{"a":' * 5_000,
    b'{"values": [1e99999]}',
    b'{"values": [' + b"9" * 6_000 + b"]}",
    b'{"values": [NaN, Infinity]}',
    b'{"values": [1], "values": [2]}',
    b'{"token": "\\ud800", "cap": {"epsilon": 1}}',
    b'\xef\xbb\xbf{"values": []}',
    b"\xff\xfe{\x00}\x00",
    b'{"\xc3\x28": 1}',
    b"0" * 100_000,
    b"\x00" * 70_000,
]
HEADERS = [
    "X-Forwarded-For: 10.0.0.1, ::1",
    "Host: a, b",
    "Host:",
    "Origin: null",
    "Content-Encoding: gzip",
    "Content-Type: application/json; charset=\xff",
    "Content-Type: multipart/form-data; boundary=" + "b" * 200,
    "Accept: */*;q=9999999999",
    "Range: bytes=0-,-1",
    "If-Match: *",
    "Cookie: a=\x7f; b=" + "c" * 4_000,
    "Authorization: Bearer other",
    "Authorization: Basic eDp5",
    "Upgrade: websocket",
    "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x",
    "Connection: close",
    "Connection: keep-alive, close",
    "Expect: 100-continue",
    "Expect: 200-ok",
    "Traceparent: 00-ff-ff-ff",
    "X-HTTP-Method-Override: DELETE",
    "X: " + "y" * 60_000,
    "X: " + "y" * 70_000,
    "Bad Name: 1",
    ": empty",
    "Folded: a\r\n b",
    "Null: \x00",
]


@dataclass(frozen=True)
class Request:
    """Bytes of HTTP/1.1, and the methods to which answers are expected.

    ``patience``: for how many seconds an answer is waited for, before the connection is closed, where the request may be none.
    """

    data: bytes
    methods: tuple[str, ...]
    patience: float | None = None


@dataclass(frozen=True)
class Held:
    """What honest devices hold of one collection: credentials and envelopes by node, and tokens that nobody has used."""

    credentials: list[str]
    envelopes: dict[tuple[int, int], Envelope]
    secrets: list[bytes]


def prepare_fuzzing(folder, users, database=None):
    """A collection with five rounds, one of them closed, one for few, one about links; half of the people have not enrolled yet."""
    collection = made(folder, 2 * users, epsilon=50.0, database=database, private_links=True)
    invited = collection.invite()
    with collection.database.writing() as connection:
        for each in invited[:users]:
            agreed = roster.RosterAgreement(epsilon=50.0, volunteer=each.node % 2 == 0)
            own = credential_hash(credential_of(each.node))
            assert roster.enrol(connection, each.secret, own, agreed)
    plans = [PLAN, LABELS, PLAN.model_copy(update={"round": 3})]
    plans.append(PLAN.model_copy(update={"round": 4, "users": tuple(FEW)}))
    plans.append(Plan(mechanism="link-rr", epsilon=1.0, dims=2 * users, round=5))
    rounds = [collection.publish(plan, later(86_400)) for plan in plans]
    collection.close(3, force=True)
    envelopes, rows = {}, np.random.default_rng(0).random((users, DIMS))
    for opened in rounds:
        for node in range(users) if opened.plan.users == "all" else FEW:
            part = opened.plan.part([node])
            private = rows[[node]] if part.subject == "features" else np.array([node % 2])
            if part.subject == "links":
                private = NeighbourLists(np.array([node]), np.array([0, 1]), np.array([max(node - 1, 1)]))
            random_bits = SeededBits(opened.number * users + node)
            message = answer(part, private, Ledger(users=node + 1, epsilon=9.0), random_bits).to_bytes()
            report = random.Random(f"{opened.number} {node}").randbytes(16).hex()
            whole = Envelope(report, invited[node].pseudonym.hex(), plan_digest(part), message)
            envelopes[opened.number, node] = whole
    collection.database.close()
    credentials = [credential_of(each.node) for each in invited[:users]]
    return Held(credentials, envelopes, [each.secret for each in invited[users:]])


class Fuzzer:
    """Makes requests by seed."""

    def __init__(self, held, seed):
        self._held, self._draw = held, random.Random(seed)
        self._named = list(held.envelopes)

    def request(self):
        """The next request."""
        kind = self._draw.random()
        if kind < 0.55:
            return self._framed(*self._upload())
        if kind < 0.72:
            return self._framed(*self._json())
        if kind < 0.90:
            return self._framed(*self._other())
        if kind < 0.97:
            return self._odd_headers()
        return self._broken()

    def _upload(self):
        """An envelope, whole or wrong in a few places, with the own credential or somebody else's."""
        draw, held = self._draw, self._held
        number, node = draw.choice(self._named) if draw.random() < 0.97 else (1, WILD)
        envelope = held.envelopes[number, node]
        body = self._changed_envelope(envelope) if draw.random() < 0.85 else envelope.to_bytes()
        if draw.random() < 0.05:
            node = draw.randrange(len(held.credentials))
        report = envelope.report
        if draw.random() < 0.06:
            others = ["0" * 32, "Z" * 32, report.upper(), "..", "%2e", "a" * 500, report[:-1], report + "%0a"]
            report = draw.choice([*others, "%D9%A1" * 16])
        if draw.random() < 0.08:
            numbers = [
                "0",
                "-1",
                "1",
                "2",
                "3",
                "4",
                "5",
                "9999999",
                "1000000000",
                "x",
                "1.0",
                "%31",
                "01",
                "+1",
                "%D9%A1",
                "1e0",
            ]
            number = draw.choice([*numbers, "9" * 5000, ""])
        credential = held.credentials[node] if draw.random() < 0.97 else self._wrong_credential(node)
        return "PUT", f"/v1/rounds/{number}/reports/{report}", body, credential

    def _changed_envelope(self, envelope):
        """Wrong inside, around, or in the ids; a checksum often fits what it is of."""
        draw, message = self._draw, envelope.message
        how = draw.random()
        if how < 0.5:
            message = self._mutated(message)
            if draw.random() < 0.8:
                message = summed(message)
        elif how < 0.6:
            # Numbers of the header: how wide, how many users, how many values, of how many.
            fields = list(MESSAGE_HEADER.unpack_from(message))
            at = draw.randrange(1, 9)
            fields[at] = (
                draw.choice([0, 1, 2, 4, 8, 255]) if at < 5 else draw.choice([0, 1, 2, 255, 2**31, 2**32 - 1])
            )
            message = summed(MESSAGE_HEADER.pack(*fields) + message[MESSAGE_HEADER.size :])
        elif how < 0.65:
            # Sound, and of somebody else: nothing in it says so.
            message = self._held.envelopes[draw.choice(self._named)].message if draw.random() < 0.9 else b""
        ids = {"report": envelope.report, "pseudonym": envelope.pseudonym, "digest": envelope.digest}
        if 0.65 <= how < 0.75:
            other = self._held.envelopes[draw.choice(self._named)]
            for name in draw.sample(list(ids), draw.randrange(1, 3)):
                ids[name] = getattr(other, name)
        body = Envelope(**ids, message=message).to_bytes()
        if how >= 0.75:
            if draw.random() < 0.3:
                fields = list(HEADER.unpack_from(body))
                fields[6] = draw.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(message) + 1])
                body = HEADER.pack(*fields) + body[HEADER.size :]
            else:
                body = self._mutated(body)
            if draw.random() < 0.7:
                body = summed(body)
        return body

    def _json(self):
        """An enrolment, often with a token that works, or a row; nearly right."""
        draw, held = self._draw, self._held
        node = draw.randrange(len(held.credentials))
        if draw.random() < 0.5:
            method, path = "POST", "/v1/enrolment"
            token = word(draw.choice(held.secrets) if draw.random() < 0.7 else draw.randbytes(16))
            told = {
                "token": token,
                "credential_hash": draw.randbytes(32).hex(),
                "cap": {"epsilon": 1.0, "delta": 0.0},
                "excluded": [1],
                "volunteer": False,
            }
        else:
            method, path = "PUT", "/v1/row"
            told = {"values": [node % 7 / 7] * DIMS}
            if draw.random() < 0.3:
                told = {"values": [0.5, 1.0], "indices": [1, 3]}
        for _ in range(draw.randrange(3)):
            name = draw.choice([*told, "extra", "by_level", "renewal_days", "indices"])
            told[name] = draw.choice(ODD)
            if name == "cap" and draw.random() < 0.5:
                told["cap"] = {"epsilon": draw.choice(ODD), "delta": draw.choice(ODD)}
        body = json.dumps(told, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
        if draw.random() < 0.2:
            body = self._mutated(body)
        if draw.random() < 0.03:
            body = draw.choice(RAW)
        return method, path, body, held.credentials[node]

    def _other(self):
        """Any method at any address, also those that would be an operator's, with tricks in the path."""
        draw, held = self._draw, self._held
        method = draw.choice(METHODS) if draw.random() < 0.5 else "GET"
        path = draw.choice(KNOWN) if draw.random() < 0.6 else draw.choice(UNKNOWN)
        if draw.random() < 0.1:
            report = held.envelopes[1, 0].report
            path = f"/v1/rounds/1/reports/{report}"
        if draw.random() < 0.2:
            path = draw.choice(
                [path + draw.choice(TRICKS), f"http://elsewhere{path}", path.upper(), path + "/"]
            )
        if draw.random() < 0.01:
            path += "/" + "a" * 30_000
        body = draw.randbytes(draw.randrange(40)) if draw.random() < 0.5 else b""
        node = draw.randrange(len(held.credentials))
        credential = held.credentials[node] if draw.random() < 0.5 else self._wrong_credential(node)
        if method == "DELETE" and path.startswith("/v1/me"):
            if draw.random() < 0.02:
                credential = held.credentials[draw.choice(EXPENDABLE)]
            elif credential == held.credentials[node]:
                credential = credential[:-1]
        return method, path, body, credential

    def _wrong_credential(self, node):
        own = self._held.credentials[node]
        at = self._draw.randrange(len(own))
        changed = [own[:at], own + "=", own[:at] + "-" + own[at + 1 :], own + " " + own]
        return self._draw.choice(["", "x", "A" * 43, "A" * 70, "\xe4" * 43, *changed, "B" * 9000])

    def _framed(self, method, path, body, credential):
        """With a length, in chunks, or two at once."""
        draw = self._draw
        if draw.random() < 0.05 and body:
            at = draw.randrange(len(body)) + 1
            data = head(method, path, credential, "Transfer-Encoding: chunked") + chunk(body[:at])
            return Request(data + (chunk(body[at:]) if body[at:] else b"") + b"0\r\n\r\n", (method,))
        data = head(method, path, credential, f"Content-Length: {len(body)}") + body
        if draw.random() < 0.02:
            return Request(head("GET", "/healthz", "") + data, ("GET", method))
        return Request(data, (method,))

    def _odd_headers(self):
        """A request with headers that are strange, twice there, or contradict each other."""
        draw = self._draw
        method, path, body, credential = self._upload() if draw.random() < 0.7 else self._other()
        length = f"Content-Length: {len(body)}"
        if draw.random() < 0.3:
            told = [f"+{len(body)}", "-1", "9" * 19, "9" * 5_000, "0x10", "\xb2"]
            twice = [length, f"Content-Length: {len(body) + 1}", "Transfer-Encoding: chunked"]
            coded = [f"Transfer-Encoding: {each}" for each in ("gzip, chunked", "identity")]
            wrong = [f"Content-Length: {each}" for each in told]
            length = draw.choice([*wrong, *(f"{length}\r\n{each}" for each in twice), *coded])
        more = "\r\n".join(draw.choices(HEADERS, k=draw.randrange(1, 4)))
        return Request(head(method, path, credential, f"{length}\r\n{more}") + body, (method,), ODD_PATIENCE)

    def _broken(self):
        """What is no whole request: the connection ends in the midst of it, or it never was HTTP."""
        draw = self._draw
        method, path, body, credential = self._upload()
        whole = head(method, path, credential, f"Content-Length: {len(body)}") + body
        data = draw.choice(
            [
                whole[: draw.randrange(len(whole))],
                head(method, path, credential, f"Content-Length: {len(body) + 50}") + body,
                head(method, path, credential, "Transfer-Encoding: chunked") + chunk(body)[:-3],
                head(method, path, credential, "Transfer-Encoding: chunked") + b"zz\r\n" + body,
                head(method, path, credential, "Transfer-Encoding: chunked") + b"f" * 17 + b"\r\n" + body,
                whole.replace(
                    b"HTTP/1.1", draw.choice([b"HTTP/1.0", b"HTTP/9.9", b"HTTP/2.0", b"http/1.1", b""]), 1
                ),
                whole.replace(b"\r\n", b"\n"),
                self._mutated(whole),
                draw.randbytes(draw.randrange(200)),
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + draw.randbytes(100),
            ]
        )
        return Request(data, (method,), BROKEN_PATIENCE)

    def _mutated(self, data):
        """The bytes with a bit turned, cut, longer, overwritten, or a part of them said twice."""
        draw = self._draw
        at, how = draw.randrange(len(data)) if data else 0, draw.randrange(6)
        if how <= 1 and data:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        if how == 2:
            return data[:at]
        if how == 3:
            return data[:at] + draw.randbytes(draw.choice([1, 4, 5000])) + data[at:]
        if how == 4:
            odd = draw.choice([draw.randbytes(4), b"\xff" * 8, b"\x00" * 8, b"\x80\x00\x00\x00"])
            return data[:at] + odd + data[at + len(odd) :]
        return data[:at] + data[draw.randrange(len(data) + 1) :]


def summed(data):
    """The bytes with a checksum at their end that fits."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little") if len(data) >= 4 else data


def head(method, path, credential, *lines):
    """The head of a request, with an empty line behind it."""
    own = f"Authorization: Bearer {credential}" if credential else "Accept: */*"
    words = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", own, *lines]
    return ("\r\n".join(words) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
