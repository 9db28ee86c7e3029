"""The HTTP calls of a device to a collector (docs/wire-format.md), with their answers checked."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphveil.client.agreement import Cap, Offer
from graphveil.client.device import Sealed
from graphveil.client.transport import MAX_ANSWER, Response, Transport, patiently
from graphveil.errors import InputError, ServerError
from graphveil.privacy import Invitation, SignedQuestion, SignedSuccession
from graphveil.privacy.credential import credential_hash
from graphveil.privacy.envelope import MAX_QUESTIONS, check_hex, questions_limit
from graphveil.privacy.people import PERSON_BYTES
from graphveil.privacy.succession import MAX_SUCCESSIONS, SUCCESSIONS_BYTES, SUCCESSIONS_VALUES

JSON, BYTES = "application/json", "application/octet-stream"
# The largest number that every reader of JSON takes for a whole one.
MAX_COUNT = (1 << 53) - 1
# Seconds that the calls of one visit may take together, with all waiting in between.
VISIT = 900.0

Patience = Callable[[Callable[[], Response]], Response]


class Calls:
    """The calls to one collector. All of them may be repeated, and are, after what may pass.

    After ``seconds`` in all, spent in calls and between their repetitions, no other call begins.
    """

    def __init__(
        self,
        transport: Transport,
        patience: Patience = patiently,
        seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport, self._patience = transport, patience
        self._left, self._clock = seconds, clock

    def within(self, seconds: float = VISIT) -> Calls:
        """Return the same calls, with so many seconds for all of them: a server may ask to wait at each one."""
        return Calls(self._transport, self._patience, seconds, self._clock)

    def offer(self) -> Offer:
        """Return the collection's description of itself, before anybody takes part."""
        told = self._expect(self._call("GET", "/v1/collection"), 200).json()
        with _checked("what the server says of its collection"):
            cap, pair = told["cap"], told.get("range")
            return Offer(
                collection=told["collection"],
                key=bytes.fromhex(told["key"]),
                purpose=told["purpose"],
                cap=Cap(cap["epsilon"], cap.get("delta", 0.0)),
                dims=told.get("dims") or 0,
                range=None if pair is None else (float(pair[0]), float(pair[1])),
                binary=bool(told.get("binary")),
                classes=told.get("classes") or 0,
                volunteers=bool(told.get("volunteers")),
                private_links=bool(told.get("private_links")),
                people=told.get("people") or 0,
            )

    def successions(self) -> list[SignedSuccession]:
        """Return how the collection's key has passed to others, from the first on.

        There are none where a collector does not support successions.
        """
        response = self._call("GET", "/v1/keys", limit=SUCCESSIONS_BYTES)
        if response.status == 404:
            return []
        told = self._expect(response, 200).json(SUCCESSIONS_VALUES)
        with _checked("the list of keys"):
            if not isinstance(told, list) or len(told) > MAX_SUCCESSIONS:
                raise ValueError
            return [SignedSuccession.from_dict(each) for each in told]

    def enrol(
        self,
        invitation: Invitation,
        credential: str,
        cap: Cap,
        excluded: tuple[int, ...] = (),
        volunteer: bool = False,
        key: bytes | None = None,
    ) -> tuple[str, str, int]:
        """Take part with these terms, and register the credential by its hash. The same request again gets the same answer.

        Returns the collection, the pseudonym and the number of the user.

        Parameters
        ----------
        invitation
            The invitation.
        credential
            The credential that the device has drawn.
        cap
            The most that the owner spends.
        excluded
            The numbers of the attributes that no question may depend on.
        volunteer
            Whether the owner gives the raw row.
        key
            The collection's key, if it is not the invitation's any more.
        """
        told: dict[str, Any] = {
            "token": invitation.secret_word,
            "credential_hash": credential_hash(credential).hex(),
            "cap": {"epsilon": cap.epsilon, "delta": cap.delta},
            "excluded": list(excluded),
            "volunteer": volunteer,
        }
        # What only some owners want is said only by them.
        if cap.by_level is not None:
            told["by_level"] = list(cap.by_level)
        if cap.renewal_days is not None:
            told["renewal_days"] = cap.renewal_days
        answer = self._expect(self._call("POST", "/v1/enrolment", told), 200, 201).json()
        with _checked("the server's answer to the enrolment"):
            if answer["key"] != (key or invitation.key).hex():
                raise ValueError
            ids = [check_hex(answer[name], name, 16) for name in ("collection", "pseudonym")]
            return ids[0], ids[1], answer["user"]

    def register(self, former: str, credential: str) -> Response:
        """Register a credential, by its hash, with one that a collector of an earlier version made."""
        told = {"credential_hash": credential_hash(credential).hex()}
        return self._call("PUT", "/v1/credential", told, former)

    def questions(self, credential: str, offer: Offer) -> list[SignedQuestion]:
        """Return the questions to this device now, reading no more than the offer can need."""
        limit = questions_limit(offer.question_numbers)
        response = self._call("GET", "/v1/questions", credential=credential, limit=limit)
        told = self._expect(response, 200).json()
        with _checked("the list of questions"):
            if not isinstance(told, list) or len(told) > MAX_QUESTIONS:
                raise ValueError
            return [SignedQuestion.from_dict(each) for each in told]

    def answered(self, credential: str) -> int | None:
        """Return how many different answers of this device the collector has.

        None if it gives no valid count.
        """
        response = self._call("GET", "/v1/me", credential=credential)
        if response.status != 200:
            return None
        try:
            count = response.json()["answered"]
        except (ServerError, LookupError, TypeError):
            return None
        return count if type(count) is int and 0 <= count <= MAX_COUNT else None

    def people(self, credential: str, offer: Offer) -> bytes:
        """The digests of all people of the collection, in the order of their numbers: as many as were agreed on."""
        limit = PERSON_BYTES * offer.most_people
        return self._expect(self._call("GET", "/v1/people", credential=credential, limit=limit), 200).body

    def send(self, credential: str, sealed: Sealed) -> Response:
        """Send an answer; whatever the server says to it is handed back."""
        path = f"/v1/rounds/{sealed.round}/reports/{sealed.report}"
        return self._call("PUT", path, sealed.envelope, credential)

    def send_row(self, credential: str, values: list[float]) -> Response:
        """Send the raw row of a volunteer."""
        return self._call("PUT", "/v1/row", {"values": values}, credential)

    def forget(self, credential: str) -> None:
        """Ask to be forgotten: reports and row are deleted, results that were learned with them are marked."""
        self._expect(self._call("DELETE", "/v1/me", credential=credential), 200, 202, 204)

    def _call(
        self,
        method: str,
        path: str,
        told: Any = None,
        credential: str | None = None,
        limit: int = MAX_ANSWER,
    ) -> Response:
        headers = {"Accept": f"{JSON}, {BYTES}"}
        body = told
        if told is not None:
            headers["Content-Type"] = BYTES if isinstance(told, bytes) else JSON
        if told is not None and not isinstance(told, bytes):
            body = json.dumps(told).encode("ascii")
        if credential is not None:
            headers["Authorization"] = f"Bearer {credential}"
        begun = self._clock()

        def attempt() -> Response:
            if self._clock() - begun >= self._left:
                raise ServerError(0, "the server takes too long in all: try again later")
            return self._transport(method, path, body, headers, limit)

        try:
            return self._patience(attempt)
        finally:
            self._left -= self._clock() - begun

    def _expect(self, response: Response, *wanted: int) -> Response:
        if response.status not in wanted:
            raise ServerError(response.status, f"the collector refuses: {response.problem}")
        return response


@contextmanager
def _checked(what: str) -> Iterator[None]:
    """Check that a server's message has the agreed form; its content is not shown."""
    try:
        yield
    except (InputError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise ServerError(0, f"{what} does not follow docs/wire-format.md: is this a collector?") from None
