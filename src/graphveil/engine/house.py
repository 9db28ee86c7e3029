"""The users' side where several workers learn: one place in which users answer, which workers ask over a connection."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import GraphveilError, PrivacyError
from graphveil.mechanisms import Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy import Plan, Respondents
from graphveil.privacy.digest import plan_digest


@dataclass(frozen=True)
class Address:
    """Where users can be asked, and the key by which they know who may."""

    host: str
    port: int
    key: bytes


class House:
    """Users who answer workers: each plan once, however many workers ask it and however often.

    What users hold stays in this process, and so do their books. A plan that was answered is not charged again: a worker that
    was lost and starts anew gets the same reports. Workers get those of their own users alone.
    """

    def __init__(self, users: Respondents, host: str = "127.0.0.1") -> None:
        self._users, self._host = users, host
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._answered: dict[str, Reports | GraphveilError] = {}

    def __enter__(self) -> Self:
        key = secrets.token_bytes(32)
        self._listener = Listener((self._host, 0), authkey=key)
        port = self._listener.address[1]
        assert isinstance(port, int)
        self.address = Address(self._host, port, key)
        threading.Thread(target=self._open, daemon=True, name="users' house").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._listener.close()

    def report(self, plan: Plan, places: NDArray[np.int64] | None) -> Reports:
        """The reports of those whom a plan asks at these places (all where none are named), asked for once."""
        digest = plan_digest(plan)
        with self._lock:
            if digest not in self._answered:
                try:
                    self._answered[digest] = self._users.report(plan)
                except GraphveilError as error:
                    self._answered[digest] = error
            told = self._answered[digest]
        if isinstance(told, GraphveilError):
            raise told
        return told if places is None else reports_at(told, places)

    def _open(self) -> None:
        """Let everybody in who has the key, until the house is closed."""
        while not self._closed.is_set():
            # Whoever has no key, or hangs up at the door, is not let in; the next one may be.
            with suppress(OSError, EOFError, AuthenticationError):
                guest = self._listener.accept()
                threading.Thread(target=self._serve, args=(guest,), daemon=True).start()

    def _serve(self, guest: Connection) -> None:
        with suppress(EOFError, OSError), guest:
            while True:
                plan, places = guest.recv()
                try:
                    reports = self.report(plan, places)
                    guest.send((reports.indptr, reports.dims, reports.codes, reports.answered))
                except GraphveilError as error:
                    guest.send(error)


def reports_at(reports: Reports, places: NDArray[np.int64]) -> Reports:
    """What is there for those at some places among all who were asked, in the order of these places."""
    row = np.full(reports.asked, -1, dtype=np.int64)
    row[reports.places] = np.arange(reports.users)
    rows = row[places]
    answered = rows >= 0
    kept = rows[answered]
    lengths = reports.lengths[kept]
    pointers = row_pointers(lengths)
    at = np.repeat(reports.indptr[kept] - pointers[:-1], lengths) + np.arange(int(pointers[-1]))
    dims = None if reports.dims is None else reports.dims[at]
    codes = reports.codes[at]
    return Reports(reports.mechanism, pointers, dims, codes, None if answered.all() else answered)


class Asking:
    """Users of a house, as a worker asks them."""

    def __init__(self, address: Address) -> None:
        self._connection = Client((address.host, address.port), authkey=address.key)

    def report(self, plan: Plan, places: NDArray[np.int64] | None) -> Reports:
        """The reports of those whom a plan asks at these places."""
        self._connection.send((plan, places))
        told: Any = self._connection.recv()
        if isinstance(told, GraphveilError):
            raise told
        if not isinstance(told, tuple):
            raise PrivacyError("the users' house answered something else than reports")
        indptr, dims, codes, answered = told
        return Reports(plan.build(), indptr, dims, codes, answered)
