"""The demonstration of a collection: a collector, a thousand devices, two studies, and the same numbers from one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import exact_words
from graphveil.client import Calls, Device, Held, Http, Response, enrol, give_row, visit
from graphveil.collect.card import BESIDE, result_card
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.learning import RoundOpenError, StudyTerms, asked_of
from graphveil.collect.public_graph import PublicGraph
from graphveil.collect.rounds import LEAST_ANSWERS, PublishedRound
from graphveil.collect.storage import Collection, create_collection
from graphveil.collect.study import StudyOutcome, learn_collection, learned_alone
from graphveil.errors import ServerError
from graphveil.experiments.experiment import Experiment
from graphveil.graphs.splits import RandomSplit
from graphveil.graphs.town import Town
from graphveil.mechanisms import Reports
from graphveil.number_format import counted, percent
from graphveil.privacy import Envelope, Invitation
from graphveil.privacy.plan import join_parts

HOUR = 3600
PURPOSE = "to learn which kind of neighbourhood people live in"
FEATURES = 32
# Every so-manieth gives the row by consent, and every so-manieth is out when a round is open.
VOLUNTEER_EVERY, OUT_EVERY = 10, 50
# How long a collector may take to start, in seconds.
PATIENCE = 60.0
STUDIES = tuple(Experiment.of(method, "collection", epsilon=2.0) for method in ("togl", "veil"))

Say = Callable[[str], None]


@dataclass(frozen=True)
class DemoSize:
    """The size of the demonstration."""

    devices: int = 1000
    processes: int = 4
    neighbourhood: int = 20
    degree: float = 10.0


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody with a device: the number, the data, the invitation, and whether the row is given by consent."""

    node: int
    held: Held
    token: str
    volunteer: bool


@dataclass(frozen=True, eq=False)
class Share:
    """The people of one process: where their collector is, and where their devices keep their books."""

    server: str
    folder: Path
    people: tuple[Person, ...]

    def device(self, person: Person) -> Device:
        """The device of a person, on whose books everything stands."""
        return Device(self.folder / "books" / f"{person.node}.sqlite", witnesses=self.folder / "witnesses")


# What one process does for its people; done for all shares, at the same time where there are processes.
ForAll = Callable[[Callable[[Share], Any], Sequence[Share]], list[Any]]


@dataclass(frozen=True)
class SentCounts:
    """An answer of a device: its node, the round, the bytes of the envelope, and the cost by its books."""

    node: int
    round: int
    envelope: bytes
    exact: float


class Recorded(Http):
    """HTTP that remembers what was put: to see later that the collector has kept just that."""

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self.put: dict[str, bytes] = {}

    def __call__(
        self, method: str, path: str, body: bytes | None = None, *more: Any, **given: Any
    ) -> Response:
        if method == "PUT" and body is not None:
            self.put[path] = body
        return super().__call__(method, path, body, *more, **given)


def leave_interrupts() -> None:
    """Ctrl-C is for the process that has started this one, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def enrol_all(share: Share) -> int:
    """Everybody takes part, with the cap that is offered; how many."""
    calls = Calls(Http(share.server))
    for person in share.people:
        device = share.device(person)
        enrol(device, calls, share.server, person.token, person.held, volunteer=person.volunteer)
    return len(share.people)


def give_rows(share: Share) -> int:
    """Volunteers give their rows; how many did."""
    calls, count = Calls(Http(share.server)), 0
    for person in share.people:
        if person.volunteer:
            device = share.device(person)
            count += give_row(device, calls, device.agreements()[0].collection, person.held)
    return count


def answer_all(share: Share) -> list[SentCounts]:
    """Everybody looks at what is asked and answers it; what was delivered."""
    sent = []
    for person in share.people:
        device, http = share.device(person), Recorded(share.server)
        seen = visit(device, Calls(http), device.agreements()[0].collection, person.held)
        told = [each.inquiry for each in seen if each.delivered and each.inquiry is not None]
        sent += [
            SentCounts(person.node, inquiry.question.round, envelope, inquiry.exact.epsilon)
            for inquiry, envelope in zip(told, http.put.values(), strict=True)
        ]
    return sent


def create_town(
    folder: Path, size: DemoSize, studies: Sequence[Experiment]
) -> tuple[Collection, NDArray[np.float64]]:
    """Create the collection of an operator with a graph and some labels; return it with the rows people hold.

    Parameters
    ----------
    folder
        The folder of the new collection.
    size
        The size of the demonstration.
    studies
        The studies that will be run on it.
    """
    town = Town(
        users=size.devices, features=FEATURES, neighbourhood=size.neighbourhood, degree=size.degree, seed=1
    )
    edges, rows, labels = town.generate()
    split = RandomSplit(0.1, 0.1).draw(labels, 0)
    masks = {part: np.array(getattr(split, part)) for part in ("train", "validation", "test")}
    ids = np.array([f"person-{number}" for number in range(size.devices)])
    settings = CollectionSettings(
        id="",
        purpose=PURPOSE,
        epsilon=sum(study.budgets.epsilon or 0.0 for study in studies),
        dims=FEATURES,
        range=(0.0, 1.0),
        binary=True,
        volunteers=True,
    )
    public = PublicGraph(edges.astype(np.int64), labels, ids, masks=masks)
    return create_collection(folder, public, settings), rows.astype(np.float64)


def invite_all(
    collection: Collection, rows: NDArray[np.float64], server: str, books: Path, count: int
) -> list[Share]:
    """Invite everybody, and return the people of each process.

    Parameters
    ----------
    collection
        The collection.
    rows
        The rows that people hold, (users, dims) float64.
    server
        The address of the collector.
    books
        The folder where devices keep their books.
    count
        The number of processes.
    """
    people = [
        Person(
            each.node,
            Held(row=rows[each.node]),
            Invitation(each.secret, collection.key.public).token(),
            each.node % VOLUNTEER_EVERY == 0,
        )
        for each in collection.invite()
    ]
    return [Share(server, books, tuple(people[place::count])) for place in range(count)]


def run_demo(
    size: DemoSize,
    say: Say,
    *,
    studies: Sequence[Experiment] = STUDIES,
    serving: Callable[[Path], AbstractContextManager[str]] | None = None,
) -> bool:
    """Collect and learn; return whether every result equals that of a single process, bit for bit.

    Parameters
    ----------
    size
        The size of the demonstration.
    say
        Called with each sentence about what is done.
    studies
        The studies to run.
    serving
        A context manager that serves a folder and yields its address; by default a process on this machine.
    """
    began, processes = time.monotonic(), max(1, size.processes)
    with (
        tempfile.TemporaryDirectory(prefix="graphveil-collect-") as folder,
        tempfile.TemporaryDirectory(prefix="graphveil-devices-", dir=memory()) as books,
        workers(size.processes) as for_all,
    ):
        collection, rows = create_town(Path(folder) / "collection", size, studies)
        say(
            f"A collection on this machine: a collector, {counted(size.devices, 'device')}, and everything between them over HTTP. Nothing is kept."
        )
        say(f"Purpose: {PURPOSE}. Nobody spends more than ε = {collection.settings.epsilon:g}, for life.")
        with (serving or served)(collection.folder) as server:
            say(f"A collector listens at {server}.")
            shares = invite_all(collection, rows, server, Path(books), processes)
            enrolled = counted(sum(for_all(enrol_all, shares)), "device")
            say(
                f"{enrolled} enrolled from {processes} client process{'es' if processes > 1 else ''}, "
                "each with one-time token, pinned key and books of its own."
            )
            equal = [_shown_study(collection, study, shares, for_all, say) for study in studies]
        collection.database.close()
    say(
        f"Done in {time.monotonic() - began:.0f} seconds; all processes and folders of it are gone. docs/collection.md goes through a "
        "collection of your own, step by step."
    )
    return all(equal)


def _shown_study(
    collection: Collection, study: Experiment, shares: Sequence[Share], for_all: ForAll, say: Say
) -> bool:
    """Learn by a method, saying what is done; whether one process learns the same from what devices sent."""
    if study.resolved_method.can.panel:
        say(
            f"{counted(sum(for_all(give_rows, shares)), 'volunteer')} gave their rows as they are, by consent."
        )
    sent: list[SentCounts] = []
    while True:
        try:
            learned = learn_collection(collection, study, StudyTerms(study.method, int(time.time()) + HOUR))
            break
        except RoundOpenError as waiting:
            sent += _answered(collection, waiting.rounds, shares, for_all, say)
    say(_scores(learned, collection))
    same = _same_alone(collection, learned, sent)
    say(
        f"{study.method} in one process, given the reports as devices sent them: predictions are "
        f"{'equal, bit for bit' if same else 'NOT EQUAL'}."
    )
    return same


def _answered(
    collection: Collection,
    rounds: Sequence[PublishedRound],
    shares: Sequence[Share],
    for_all: ForAll,
    say: Say,
) -> list[SentCounts]:
    """Let people answer what is published, but those who are out, and close it; what was sent."""
    for each in rounds:
        say(_question(each))
    there = [
        replace(share, people=tuple(who for who in share.people if who.node % OUT_EVERY != rounds[0].number))
        for share in shares
    ]
    came: list[SentCounts] = [each for answers in for_all(answer_all, there) for each in answers]
    for each in rounds:
        # Where few are asked, a round is read from all of them on; here some are out for good.
        closed = collection.close(each.number, force=len(each.asked) <= LEAST_ANSWERS)
        computed = max(one.exact for one in came if one.round == each.number)
        say(
            f"  {closed.answered:,} of {len(each.asked):,} answered, over HTTP, and the others were out; devices computed "
            f"ε = {exact_words(computed, each.plan.claim.epsilon)}, themselves before they did. Round {each.number} is closed."
        )
    return came


def _question(each: PublishedRound) -> str:
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
    """Return whether the method gives the same in this process, from the devices' bytes, not the database."""
    told = []
    for replayed in learned.replayed:
        whole = replayed.plan.part(asked_of(replayed.plan, len(collection.ids)).tolist())
        came = [each for each in sent if each.round == replayed.round.number]
        parts = [(whole.part([each.node]), Envelope.from_bytes(each.envelope).message) for each in came]
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
