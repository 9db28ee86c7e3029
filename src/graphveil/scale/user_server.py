"""The users' side where several workers learn: one process in which users answer, and the connections by which workers ask."""

from __future__ import annotations

import platform
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import EngineError, GraphveilError, PrivacyError
from graphveil.graphs.collective import Collective
from graphveil.graphs.part import GraphPart
from graphveil.mechanisms import PersonalMechanism, Reports, estimate_level_shares
from graphveil.privacy import Plan, Respondents
from graphveil.privacy.plan import plan_digest

# Connections that have not shown the key yet; where one more comes, the oldest of them is closed.
MOST_UNKNOWN = 64
# Connections that may wait to be accepted, and how long none is where the machine is out of sockets.
WAITING, PAUSE_SECONDS = 128, 0.05
# Where closing the server does not wake its thread, that notices it after so long.
WAKE_SECONDS = 1.0


@dataclass(frozen=True)
class Address:
    """The address at which users can be asked, and the key that workers must have, which is never shown."""

    host: str
    port: int
    key: bytes = field(repr=False)


class UserServer:
    """Users who answer workers: each plan once, however many workers ask it and however often.

    What users hold stays in this process, and so do their books. A plan that was answered is not charged again: a worker that
    was lost and starts anew gets the same reports. Workers get those of their own users alone.
    """

    def __init__(self, users: Respondents, host: str = "127.0.0.1") -> None:
        self._users, self._host = users, host
        self._asking, self._answered = threading.Lock(), dict[str, Reports | GraphveilError]()
        # All connections, in the order in which they came, and whether they have shown the key.
        self._counting, self._clients = threading.Lock(), dict[socket.socket, bool]()
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        self._listener = socket.create_server((self._host, 0), backlog=WAITING)
        self._listener.settimeout(WAKE_SECONDS)
        self.address = Address(self._host, int(self._listener.getsockname()[1]), secrets.token_bytes(32))
        self._thread = threading.Thread(target=self._open, daemon=True, name="user server")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Accept no more connections, and close all that there are."""
        self._closed.set()
        _disconnect(self._listener)
        with self._counting:
            for client in self._clients:
                _disconnect(client)
        self._thread.join(2 * WAKE_SECONDS)

    def report(self, plan: Plan, places: NDArray[np.int64] | None) -> Reports:
        """The reports of those whom a plan asks at these places (all where none are named), asked for once."""
        digest = plan_digest(plan)
        with self._asking:
            if digest not in self._answered:
                self._answered[digest] = self._ask(plan)
            told = self._answered[digest]
        if isinstance(told, GraphveilError):
            raise told
        return told if places is None else told.of_asked(places)

    def _ask(self, plan: Plan) -> Reports | GraphveilError:
        try:
            return self._users.report(plan)
        except GraphveilError as error:
            return error
        except Exception as error:  # noqa: BLE001
            # Users may have been charged, so they are not asked again; and what it says may be about what they hold.
            return PrivacyError(
                f"the users could not answer {plan.mechanism} ({type(error).__name__}), and are not asked again: run it in one "
                "process to see why"
            )

    def _open(self) -> None:
        """Accept connections until the server is closed; a thread for each sees whether it has the key."""
        with self._listener as listener:
            while not self._closed.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                except OSError:
                    self._closed.wait(PAUSE_SECONDS)
                    continue
                self._receive(client)
                threading.Thread(
                    target=self._serve, args=(client,), daemon=True, name="user server's client"
                ).start()

    def _receive(self, client: socket.socket) -> None:
        with self._counting:
            self._clients[client] = False
            unknown = [each for each, known in self._clients.items() if not known]
            if len(unknown) > MOST_UNKNOWN:
                _disconnect(unknown[0])
            if self._closed.is_set():
                _disconnect(client)

    def _serve(self, client: socket.socket) -> None:
        """Answer one client, which has to show the key first. Whatever it sends, no other is disturbed."""
        with suppress(Exception), client, Connection(client.dup().detach()) as connection:
            deliver_challenge(connection, self.address.key)
            answer_challenge(connection, self.address.key)
            with self._counting:
                self._clients[client] = True
            while True:
                connection.send(self._told(connection.recv()))
        with self._counting:
            del self._clients[client]

    def _told(self, asked: Any) -> Any:
        """The answer to a client: reports in parts, without their mechanism, or why there are none."""
        if self._closed.is_set():
            return EngineError("the user server is closed: no plan is answered any more")
        try:
            plan, places = asked
            reports = self.report(plan, places)
            return reports.indptr, reports.dims, reports.codes, reports.answered
        except GraphveilError as error:
            return error
        except Exception as error:  # noqa: BLE001
            # Pickles of a client can hold anything.
            return EngineError(
                f"a worker asked the user server for something else than a plan and places ({type(error).__name__}): this is a mistake in "
                "graphveil"
            )


def _disconnect(connected: socket.socket) -> None:
    """End a connection and wake its waiters; it may have ended before."""
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


class UserClient:
    """Users behind a server, as a worker asks them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        with self._reached():
            self._connection = Client((address.host, address.port), authkey=address.key)

    def report(self, plan: Plan, places: NDArray[np.int64] | None) -> Reports:
        """The reports of those whom a plan asks at these places."""
        with self._reached():
            self._connection.send((plan, places))
            told: Any = self._connection.recv()
        if isinstance(told, GraphveilError):
            raise told
        if not isinstance(told, tuple):
            raise PrivacyError("the user server answered something else than reports")
        indptr, dims, codes, answered = told
        return Reports(plan.build(), indptr, dims, codes, answered)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, AuthenticationError) as error:
            raise EngineError(
                f"the users at {self._address.host}:{self._address.port} cannot be reached from {platform.node()} "
                f"({str(error) or type(error).__name__}): workers ask them on the machine where the command runs, which must let them in"
            ) from None


Numbers = NDArray[np.int64]


class Answering(Protocol):
    """Users of the whole graph, who answer a plan for all of it."""

    def report(self, plan: Plan, places: Numbers | None) -> Reports:
        """The reports of those whom a plan asks at these places."""


class PartUsers:
    """A worker asks its own users by their numbers in the part. All workers ask together: what they ask is put into one plan for
    the whole graph, by its own numbers, which is the plan that one process asks. Each gets the reports of its users."""

    def __init__(self, part: GraphPart, whole: Answering) -> None:
        self._part, self._whole = part, whole

    def report(self, plan: Plan) -> Reports:
        """The reports of this worker's users, in the order in which its plan names them."""
        return with_common_shares(self._reports(plan), self._part.collective)

    def _reports(self, plan: Plan) -> Reports:
        part = self._part
        if plan.users == "all":
            return self._whole.report(plan, part.original)
        own = part.original[np.array(plan.users, dtype=np.int64)]
        everybody = part.collective.gather(own)
        order = np.argsort(everybody, kind="stable")
        asked = everybody[order]
        tables: dict[str, Any] = {}
        for name in ("lists", "offsets"):
            table = getattr(plan, name)
            if table is not None:
                tables[name] = part.collective.gather(np.asarray(table.array, dtype=np.int64))[order]
        whole = plan.model_copy(update={"users": tuple(asked.tolist()), **tables})
        return self._whole.report(whole, np.searchsorted(asked, own))


@dataclass(frozen=True, eq=False, repr=False)
class _SharedLevels(PersonalMechanism):
    """A mechanism whose levels' shares were estimated from more reports than it is asked to decode: ``found``."""

    found: tuple[float, ...] = ()

    def level_shares(self, reports: Reports) -> NDArray[np.float64]:
        return np.array(self.found)


def with_common_shares(reports: Reports, collective: Collective) -> Reports:
    """Reports of one worker's users that are decoded with the shares of everybody's levels; all workers call this together."""
    mechanism = reports.mechanism
    if not isinstance(mechanism, PersonalMechanism) or mechanism.shares is not None:
        return reports
    counts = np.bincount(mechanism.level_codes(reports), minlength=mechanism.transition.shape[1])
    shares = estimate_level_shares(collective.sum(counts), mechanism.transition)
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    return replace(reports, mechanism=_SharedLevels(**held, found=tuple(shares.tolist())))
