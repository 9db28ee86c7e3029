"""The demonstration of a collection: a collector, a thousand devices, two studies, and the same numbers from one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import exact_words
from graphveil.client import Calls, Device, Held, Http, Response, enrol, give_row, visit
from graphveil.client.transport import MAX_ANSWER
from graphveil.collect.card import BESIDE, result_card
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.learning import AnsweredRound, RoundOpenError
from graphveil.collect.public_graph import PublicGraph
from graphveil.collect.rounds import LEAST_ANSWERS
from graphveil.collect.storage import Collection, create_collection
from graphveil.collect.study import StudyOutcome, StudyTerms, learn_collection, learned_alone
from graphveil.errors import ServerError
from graphveil.experiments.experiment import Experiment
from graphveil.graphs.splits import RandomSplit
from graphveil.graphs.town import Town
from graphveil.mechanisms import Reports
from graphveil.number_format import counted, percent
from graphveil.privacy import Envelope, Invitation
from graphveil.privacy.plan import join_parts


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
class SentCounts:
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


def answer_all(share: Share) -> list[SentCounts]:
    """Everybody looks at what is asked and answers it; what was delivered."""
    sent = []
    for person in share.people:
        device, http = share.device(person), Recorded(share.server)
        (agreement,) = device.agreements()
        seen = visit(device, Calls(http), agreement.collection, person.held)
        told = [each.inquiry for each in seen if each.delivered and each.inquiry is not None]
        sent += [
            SentCounts(person.node, inquiry.question.round, envelope, inquiry.exact.epsilon)
            for inquiry, envelope in zip(told, http.put.values(), strict=True)
        ]
    return sent


HOUR = 3600
PURPOSE = "to learn which kind of neighbourhood people live in"
# Every so-manieth gives the row by consent, and every so-manieth is out when a round is open.
VOLUNTEER_EVERY, OUT_EVERY = 10, 50
# How long a collector may take to start, in seconds.
PATIENCE = 60.0

Say = Callable[[str], None]
# What one process does for its people; done for all shares, at the same time where there are processes.
ForAll = Callable[[Callable[[Share], Any], Sequence[Share]], list[Any]]


@dataclass(frozen=True)
class DemoStudy:
    """A method that learns from the collection, at a budget."""

    method: str
    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> Experiment:
        """The method as it is run."""
        return Experiment.of(self.method, "collection", settings=self.settings, epsilon=self.epsilon)


TOGL, VEIL = DemoStudy("togl", 2.0), DemoStudy("veil", 2.0)


@dataclass(frozen=True)
class DemoSize:
    """How large the demonstration is."""

    devices: int = 1000
    processes: int = 4
    neighbourhood: int = 20
    degree: float = 10.0


class Demonstration:
    """A town whose people hold devices, and an operator who has a graph, some labels, and a collection."""

    def __init__(self, folder: Path, books: Path, size: DemoSize, studies: Sequence[DemoStudy]) -> None:
        town = Town(
            users=size.devices, features=32, neighbourhood=size.neighbourhood, degree=size.degree, seed=1
        )
        edges, rows, labels = town.generate()
        split = RandomSplit(0.1, 0.1).draw(labels, 0)
        masks = {part: np.array(getattr(split, part)) for part in ("train", "validation", "test")}
        ids = np.array([f"person-{number}" for number in range(size.devices)])
        self.rows, self._books, self._size = rows.astype(np.float64), books, size
        self.collection = create_collection(
            folder,
            PublicGraph(edges.astype(np.int64), labels, ids, masks=masks),
            CollectionSettings(
                id="",
                purpose=PURPOSE,
                epsilon=sum(study.epsilon for study in studies),
                dims=32,
                range=(0.0, 1.0),
                binary=True,
                volunteers=True,
            ),
        )

    def shares(self, server: str) -> list[Share]:
        """Invite everybody, and give each process its people."""
        key = self.collection.key.public
        people = [
            Person(
                each.node,
                self.rows[each.node],
                Invitation(each.secret, key).token(),
                each.node % VOLUNTEER_EVERY == 0,
            )
            for each in self.collection.invite()
        ]
        count = max(1, self._size.processes)
        return [Share(server, self._books, tuple(people[place::count])) for place in range(count)]


def run_demo(
    size: DemoSize,
    say: Say,
    *,
    studies: Sequence[DemoStudy] = (TOGL, VEIL),
    serving: Callable[[Path], AbstractContextManager[str]] | None = None,
) -> bool:
    """Collect and learn, saying what is done; whether every result is the one of a single process, bit for bit."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="graphveil-collect-") as folder,
        tempfile.TemporaryDirectory(prefix="graphveil-devices-", dir=memory()) as books,
        workers(size.processes) as for_all,
    ):
        shown = Demonstration(Path(folder) / "collection", Path(books), size, studies)
        collection = shown.collection
        say(
            f"A collection on this machine: a collector, {counted(size.devices, 'device')}, and everything between them over HTTP. Nothing is kept."
        )
        say(f"Purpose: {PURPOSE}. Nobody spends more than ε = {collection.settings.epsilon:g}, for life.")
        with (serving or served)(collection.folder) as server:
            say(f"A collector listens at {server}.")
            shares = shown.shares(server)
            enrolled = sum(for_all(enrol_all, shares))
            say(
                f"{counted(enrolled, 'device')} enrolled from {max(1, size.processes)} client process{'es' if size.processes > 1 else ''}, "
                "each with one-time token, pinned key and books of its own."
            )
            equal = True
            for study in studies:
                if study.spec.resolved_method.can.panel:
                    given = sum(for_all(give_rows, shares))
                    say(f"{counted(given, 'volunteer')} gave their rows as they are, by consent.")
                sent: list[SentCounts] = []
                learned = _learn(collection, study, shares, for_all, sent, say)
                say(_scores(learned, collection))
                same = _same_alone(collection, learned, sent)
                say(
                    f"{study.method} in one process, given the reports as devices sent them: predictions are "
                    f"{'equal, bit for bit' if same else 'NOT EQUAL'}."
                )
                equal &= same
        collection.database.close()
    say(
        f"Done in {time.monotonic() - began:.0f} seconds; all processes and folders of it are gone. docs/collection.md goes through a "
        "collection of your own, step by step."
    )
    return equal


def _learn(
    collection: Collection,
    study: DemoStudy,
    shares: Sequence[Share],
    for_all: ForAll,
    sent: list[SentCounts],
    say: Say,
) -> StudyOutcome:
    """Learn, let people answer what is published on the way, and learn again, until there is a result."""
    while True:
        terms = StudyTerms(study.method, int(time.time()) + HOUR)
        try:
            return learn_collection(collection, study.spec, terms)
        except RoundOpenError as waiting:
            for each in waiting.rounds:
                say(_question(each))
            out = {
                node for node in range(len(collection.ids)) if node % OUT_EVERY == waiting.rounds[0].number
            }
            everybody = {person.node for share in shares for person in share.people}
            there = [share.of(everybody - out) for share in shares]
            came = [each for answers in for_all(answer_all, there) for each in answers]
            sent += came
            for each in waiting.rounds:
                # Where few are asked, a round is read from all of them on; here some are out for good.
                closed = collection.close(each.number, force=len(each.asked) <= LEAST_ANSWERS)
                computed = max(one.exact for one in came if one.round == each.number)
                exact = exact_words(computed, each.plan.claim.epsilon)
                say(
                    f"  {closed.answered:,} of {len(each.asked):,} answered, over HTTP, and the others were out; devices computed ε = {exact}, themselves "
                    f"before they did. Round {each.number} is closed."
                )


def _question(each: AnsweredRound) -> str:
    plan = each.plan
    what = "the class that a public model gives to the own row" if plan.of == "class" else "values of the row"
    exact = exact_words(plan.build().epsilon, plan.claim.epsilon)
    return (
        f"{each.study}, round {each.number}: asks {counted(len(each.asked), 'device')} for {what}, by {plan.mechanism} at "
        f"ε = {plan.claim.epsilon:g} (exact: {exact})."
    )


def _scores(learned: StudyOutcome, collection: Collection) -> str:
    card = result_card(learned, collection.settings)
    beside = [
        f"{BESIDE[part]} {percent(score)}"
        for part, score in learned.scores.items()
        if part in BESIDE and score
    ]
    own = learned.scores["method"]
    return (
        f"{learned.spec.method}: {card['metric']} {'not known' if own is None else percent(own)} on "
        f"{counted(card['labels']['held_out'], 'held-out user')}; beside it: {', '.join(beside)}.\n  {card['verdict']}\n  "
        f"{card['statement']}"
    )


def _same_alone(collection: Collection, learned: StudyOutcome, sent: Iterable[SentCounts]) -> bool:
    """Whether the method gives the same in this process, from the bytes that devices have sent and not from the database."""
    by_round: dict[int, dict[int, bytes]] = {}
    for each in sent:
        by_round.setdefault(each.round, {})[each.node] = Envelope.from_bytes(each.envelope).message
    told = []
    for replayed in learned.replayed:
        plan = replayed.plan
        users = range(len(collection.ids)) if plan.users == "all" else plan.users
        whole = plan.part(tuple(users))
        parts = [(whole.part([node]), data) for node, data in by_round[replayed.round.number].items()]
        told.append(
            join_parts(whole, [(part, Reports.from_bytes(data, part.build())) for part, data in parts])
        )
    alone, own = learned_alone(collection, learned, told), learned.outcome
    assert alone.scores is not None and own.scores is not None
    return alone.scores.tobytes() == own.scores.tobytes()


@contextmanager
def workers(count: int) -> Iterator[ForAll]:
    """Processes for devices, ended in any case; none where the count is 0: then everything is done here."""
    if count < 1:
        yield lambda work, shares: [work(share) for share in shares]
        return
    # A new process holds nothing of this one.
    with get_context("spawn").Pool(count, leave_interrupts) as pool:
        yield lambda work, shares: pool.map(work, shares, chunksize=1)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A collector process on this machine, at a port that is free; its address. It is ended in any case."""
    command = [sys.executable, "-m", "graphveil", "collect", "serve", str(folder), "--port", "0"]
    # Ctrl-C reaches this process alone, which then ends the other.
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            words = [word.rstrip(",") for word in first.split() if word.startswith("http://")]
            if not words:
                raise ServerError(0, f"the collector did not start: {first.strip() or 'it said nothing'}")
            _wait_for(words[0])
            yield words[0]
        finally:
            process.terminate()


def _wait_for(server: str) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if Http(server)("GET", "/readyz").status == 200:
                return
        except ServerError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def memory() -> str | None:
    """A folder in memory for the books of many devices, where waiting for the disk takes no time; None where there is none."""
    folder = "/dev/shm"
    return folder if os.access(folder, os.W_OK) else None
