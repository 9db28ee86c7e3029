"""A collection with one device, and a server that is a function."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from graphveil import Plan
from graphveil.client import Agreement, Calls, Cap, Device, Held, Offer, Response, enrol
from graphveil.errors import RefusalError
from graphveil.privacy import Envelope, Invitation, Question, SignedQuestion, SignedSuccession, Succession
from graphveil.privacy.people import people_digests
from tests.watchdog import folder_prefix


def public_key(private):
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def sign(question, private):
    """A question with the signature of this private key."""
    unsigned = SignedQuestion(question.payload(), bytes(64))
    return replace(unsigned, signature=Ed25519PrivateKey.from_private_bytes(private).sign(unsigned.signed))


def sign_succession(told, old, new):
    """A statement with the signatures of the private key that goes and of the one that comes."""
    unsigned = SignedSuccession(told.payload(), bytes(64), bytes(64))
    keys = map(Ed25519PrivateKey.from_private_bytes, (old, new))
    return SignedSuccession(unsigned.payload, *(key.sign(unsigned.signed) for key in keys))


PRIVATE = bytes(range(32))
PUBLIC = public_key(PRIVATE)
INVITATION = Invitation(b"sixteen bytes...", PUBLIC)
COLLECTION, PSEUDONYM, USER = "c0" * 16, "0f" * 16, 17
PURPOSE = "to learn what people like"
NOW, URL = 1_800_000_000, "http://localhost"
OFFER = Offer(COLLECTION, PUBLIC, PURPOSE, Cap(4.0, 1e-4), 4, (0.0, 1.0), False, 3, True)
AGREEMENT = Agreement(OFFER, URL, PSEUDONYM, USER, OFFER.cap, NOW - 10)
# Numbers that would be seen in any message that holds one.
ROW = [0.123454321, 0.987656789, 0.555111555, 0.777333777]
HELD = Held(row=ROW)
VALUES = {"mechanism": "multibit", "epsilon": 1.0, "dims": 4, "range": (0, 1), "users": (USER,)}


def values(**fields):
    return Plan(**{**VALUES, **fields})


def asked(plan, private=PRIVATE, **fields):
    told = {
        "collection": COLLECTION,
        "round": 1,
        "user": USER,
        "published": NOW - 5,
        "expires": NOW + 1000,
        "purpose": PURPOSE,
    }
    return sign(Question(plan=plan, **{**told, **fields}), private)


def private_key(number):
    """The private key of a collection after so many changes; the first is `PRIVATE`."""
    return PRIVATE if number == 0 else bytes([number]) * 32


def succession(number, /, **told):
    """The change of that number, signed by both keys; what is told otherwise is signed all the same."""
    old, new = told.pop("old", private_key(number - 1)), told.pop("new", private_key(number))
    usual = {"collection": COLLECTION, "number": number, "before": public_key(old), "after": public_key(new)}
    return sign_succession(Succession(**{**usual, "made": NOW + number, **told}), old, new)


def new_device(folder, now=NOW, name="device.sqlite"):
    """A device that has agreed to nothing yet."""
    return Device(Path(folder) / "books" / name, witnesses=Path(folder) / "witnesses", clock=lambda: now)


def device_in(folder, agreement=AGREEMENT, now=NOW, name="device.sqlite"):
    device = new_device(folder, now, name)
    device.agree(agreement)
    return device


def calls(transport):
    """Calls that are tried once."""
    return Calls(transport, lambda call: call())


def enrolled(folder, transport, invitation=INVITATION, **terms):
    """A device that takes part in the collection of a server."""
    device = new_device(folder)
    enrol(device, calls(transport), URL, invitation.token(), HELD, clock=lambda: NOW - 10, **terms)
    return device


def credentials_of(device):
    """What a device proves itself by."""
    with device.books() as books:
        return books.credentials(COLLECTION)


def drawn_credential(device):
    """A credential that is not registered yet."""
    with device.books() as books:
        return books.draw_credential(COLLECTION, None)


def message_of(sealed, plan):
    """The report inside of what a device sends."""
    from graphveil import Reports

    return Reports.from_bytes(Envelope.from_bytes(sealed.envelope).message, plan.build())


def fast_folder():
    """A folder where waiting for a disk takes no time."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(
        prefix=folder_prefix(), dir=memory if os.access(memory, os.W_OK) else None
    )


@dataclass
class Server:
    """A collector for one device, as a transport; it keeps what it gets, and breaks when told to."""

    plans: list = field(default_factory=list)
    reports: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    offer: dict = field(default_factory=dict)
    enrolment: dict = field(default_factory=dict)
    # What was said with each token; the hash of the credential that counts; and one that it made itself, as earlier versions did.
    tokens: dict = field(default_factory=dict)
    known: str = hashlib.sha256(b"cred").hexdigest()
    former: str | None = None
    private: bytes = PRIVATE
    successions: list = field(default_factory=list)
    expires: int = NOW + 1000
    # What it says to a device that asks for its count of answers, where it is not the truth.
    counted: Response | None = None
    people: list = field(default_factory=lambda: [f"p{number}" for number in range(40)])

    def __call__(self, method, path, body=None, headers=None, limit=0):
        self.calls.append((method, path, body, dict(headers or {})))
        if path == "/v1/collection":
            return self._json(200, self._offer())
        if path == "/v1/keys":
            return self._json(200, [each.as_dict() for each in self.successions])
        if path == "/v1/enrolment":
            return self._enrolled(json.loads(body))
        bearer = (headers or {}).get("Authorization", "").removeprefix("Bearer ")
        if path == "/v1/credential" and bearer == self.former:
            return self._registered(json.loads(body)["credential_hash"])
        if hashlib.sha256(bearer.encode()).hexdigest() != self.known:
            return self._json(401, {"title": "Who are you?", "detail": "send a credential"})
        if path == "/v1/questions":
            rounds = enumerate(self.plans, 1)
            signed = [
                asked(p, self.private, round=n, expires=self.expires).as_dict()
                for n, p in rounds
                if n not in self.reports
            ]
            return self._json(200, signed)
        if path == "/v1/people":
            return Response(200, people_digests(COLLECTION, self.people))
        if path.startswith("/v1/rounds/"):
            number = int(path.split("/")[3])
            assert path.endswith(Envelope.from_bytes(body).report)
            known = self.reports.setdefault(number, body)
            return self._json(201 if known is body else 200 if known == body else 409, {"detail": "other"})
        if path == "/v1/row":
            self.rows.append(json.loads(body))
            return self._json(201, {})
        if path == "/v1/me" and method == "GET":
            return self.counted or self._json(200, {"answered": len(set(self.reports.values()))})
        if path == "/v1/me":
            return Response(204)
        return self._json(404, {"title": "nothing here"})

    def _enrolled(self, said):
        if self.tokens.setdefault(said["token"], said) != said:
            return self._json(409, {"detail": "this token was used"})
        self.known = said["credential_hash"]
        told = {"collection": COLLECTION, "pseudonym": PSEUDONYM, "user": USER}
        return self._json(201, {**told, "key": public_key(self.private).hex(), **self.enrolment})

    def _registered(self, own):
        if self.tokens.setdefault("former", own) != own:
            return self._json(401, {"detail": "it has registered another one"})
        self.known = own
        return Response(204)

    def _offer(self):
        told = {"collection": COLLECTION, "key": public_key(self.private).hex(), "purpose": PURPOSE}
        told["cap"] = {"epsilon": 4.0, "delta": 1e-4}
        told |= {"dims": 4, "range": [0.0, 1.0], "binary": False, "classes": 3, "volunteers": True}
        return {**told, **self.offer}

    def _json(self, status, told):
        return Response(status, json.dumps(told).encode())


def refusal(call, *given, **told):
    """The reason why a device refuses, in words that show no value of the row."""
    with pytest.raises(RefusalError) as caught:
        call(*given, **told)
    assert digits_of_row(str(caught.value)) == []
    return caught.value.reason


def digits_of_row(text):
    """Values of the row that a text shows, in any precision of three digits or more."""
    shown = [f"{value:.3f}"[1:] for value in ROW] + [f"{value:.4g}" for value in ROW]
    return [each for each in shown if each in text]


def link_row(count=40):
    return np.array([1, 3, 5, count - 1])
