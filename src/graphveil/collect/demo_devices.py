"""People of the demonstration: each has a device with books of its own, and some of them share a process."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.client import Calls, Device, Held, Http, Response, enrol, give_row, visit
from graphveil.client.transport import MAX_ANSWER


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody with a device: the number and the row, the invitation, and whether the row is given by consent."""

    node: int
    row: NDArray[np.float64]
    token: str
    volunteer: bool

    @property
    def held(self) -> Held:
        """What the device is given."""
        return Held(row=self.row)


@dataclass(frozen=True, eq=False)
class Share:
    """The people of one process: where their collector is, and where their devices keep their books."""

    server: str
    folder: Path
    people: tuple[Person, ...]

    def device(self, person: Person) -> Device:
        """The device of a person, on whose books everything stands."""
        return Device(self.folder / "books" / f"{person.node}.sqlite", witnesses=self.folder / "witnesses")

    def of(self, nodes: set[int]) -> Share:
        """Some of the people."""
        return Share(self.server, self.folder, tuple(each for each in self.people if each.node in nodes))


@dataclass(frozen=True)
class Sent:
    """What a device has sent: whose it is, in which round, the bytes of its envelope, and what it cost by its own books."""

    node: int
    round: int
    envelope: bytes
    exact: float


class Recorded:
    """HTTP that remembers what was put: to see later that the collector has kept just that."""

    def __init__(self, server: str) -> None:
        self._http = Http(server)
        self.put: dict[str, bytes] = {}

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Response:
        if method == "PUT" and body is not None:
            self.put[path] = body
        return self._http(method, path, body, headers, limit)


def leave_interrupts() -> None:
    """Ctrl-C is for the process that has started this one, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def enrol_all(share: Share) -> int:
    """Everybody takes part, with the cap that is offered; how many."""
    calls = Calls(Http(share.server))
    for person in share.people:
        enrol(
            share.device(person), calls, share.server, person.token, person.held, volunteer=person.volunteer
        )
    return len(share.people)


def give_rows(share: Share) -> int:
    """Volunteers give their rows; how many did."""
    calls = Calls(Http(share.server))
    count = 0
    for person in share.people:
        if person.volunteer:
            device = share.device(person)
            (agreement,) = device.agreements()
            count += give_row(device, calls, agreement.collection, person.held)
    return count


def answer_all(share: Share) -> list[Sent]:
    """Everybody looks at what is asked and answers it; what was delivered."""
    sent = []
    for person in share.people:
        device, http = share.device(person), Recorded(share.server)
        (agreement,) = device.agreements()
        seen = visit(device, Calls(http), agreement.collection, person.held)
        told = [each.inquiry for each in seen if each.delivered and each.inquiry is not None]
        sent += [
            Sent(person.node, inquiry.question.round, envelope, inquiry.exact.epsilon)
            for inquiry, envelope in zip(told, http.put.values(), strict=True)
        ]
    return sent
