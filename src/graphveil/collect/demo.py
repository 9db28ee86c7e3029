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
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import exact_words
from graphveil.client import Calls, Device, Held, Http, enrol, give_row, visit
from graphveil.collect.card import BESIDE, result_card
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.learning import RoundOpenError, StudyTerms, asked_users
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
    """Somebody with a device: number, data, invitation, and consent to give the row; the collector, and where books are kept."""

    node: int
    held: Held
    token: str
    volunteer: bool
    server: str
    folder: Path

    @property
    def device(self) -> Device:
        """The device, on whose books everything stands."""
        return Device(self.folder / "books" / f"{self.node}.sqlite", witnesses=self.folder / "witnesses")

    @property
    def calls(self) -> Calls:
        """The calls to the collector."""
        return Calls(Http(self.server))


# What is done for everybody, at the same time where there are processes.
ForAll = Callable[[Callable[[Person], Any], Sequence[Person]], list[Any]]


@dataclass(frozen=True)
class SentReport:
    """An answer of a device: its node, the round, the bytes of the envelope, and the cost by its books."""

    node: int
    round: int
    envelope: bytes
    exact: float


def leave_interrupts() -> None:
    """Ctrl-C is for the process that has started this one, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def enrol_person(person: Person) -> None:
    """Take part, with the cap that is offered."""
    enrol(person.device, person.calls, person.server, person.token, person.held, volunteer=person.volunteer)


def give_own_row(person: Person) -> bool:
    """Give the row of a volunteer; whether it was new."""
    device = person.device
    return give_row(device, person.calls, device.agreements()[0].collection, person.held)


def answer_questions(person: Person) -> list[SentReport]:
    """Look at what is asked and answer it; what was delivered, as the books of the device have it."""
    device = person.device
    collection = device.agreements()[0].collection
    sent = []
    for each in visit(device, person.calls, collection, person.held):
        if each.delivered and each.inquiry is not None:
            question = each.inquiry.question
            with device.books() as books:
                line = books.find(collection, question.digest)
            assert line is not None and line.envelope is not None
            sent.append(SentReport(person.node, question.round, line.envelope, each.inquiry.exact.epsilon))
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
            people = [
                Person(
                    each.node,
                    Held(row=rows[each.node]),
                    Invitation(each.secret, collection.key.public).token(),
                    each.node % VOLUNTEER_EVERY == 0,
                    server,
                    Path(books),
                )
                for each in collection.invite()
            ]
            enrolled = counted(len(for_all(enrol_person, people)), "device")
            say(
                f"{enrolled} enrolled from {processes} client process{'es' if processes > 1 else ''}, "
                "each with one-time token, pinned key and books of its own."
            )
            equal = [_shown_study(collection, study, people, for_all, say) for study in studies]
        collection.database.close()
    say(
        f"Done in {time.monotonic() - began:.0f} seconds; all processes and folders of it are gone. docs/collection.md goes through a "
        "collection of your own, step by step."
    )
    return all(equal)


def _shown_study(
    collection: Collection, study: Experiment, people: Sequence[Person], for_all: ForAll, say: Say
) -> bool:
    """Learn by a method, saying what is done; whether one process learns the same from what devices sent."""
    if study.resolved_method.can.panel:
        given = for_all(give_own_row, [each for each in people if each.volunteer])
        say(f"{counted(sum(given), 'volunteer')} gave their rows as they are, by consent.")
    sent: list[SentReport] = []
    while True:
        try:
            learned = learn_collection(collection, study, StudyTerms(study.method, int(time.time()) + HOUR))
            break
        except RoundOpenError as waiting:
            for each in waiting.rounds:
                say(_question(each))
            there = [each for each in people if each.node % OUT_EVERY != waiting.rounds[0].number]
            came: list[SentReport] = [one for own in for_all(answer_questions, there) for one in own]
            for each in waiting.rounds:
                say(_closed(collection, each, came))
            sent += came
    say(_scores(learned, collection))
    same = _same_alone(collection, learned, sent)
    say(
        f"{study.method} in one process, given the reports as devices sent them: predictions are "
        f"{'equal, bit for bit' if same else 'NOT EQUAL'}."
    )
    return same


def _closed(collection: Collection, opened: PublishedRound, came: Sequence[SentReport]) -> str:
    """Close a round, and return what came of it."""
    # Where few are asked, a round is read from all of them on; here some are out for good.
    closed = collection.close(opened.number, force=len(opened.asked) <= LEAST_ANSWERS)
    computed = max(each.exact for each in came if each.round == opened.number)
    return (
        f"  {closed.answered:,} of {len(opened.asked):,} answered, over HTTP, and the others were out; devices computed "
        f"ε = {exact_words(computed, opened.plan.claim.epsilon)}, themselves before they did. Round {opened.number} is closed."
    )


def _question(each: PublishedRound) -> str:
    plan = each.plan
    what = (
        "the class that a public model predicts from the row" if plan.of == "class" else "values of the row"
    )
    exact = exact_words(plan.build().epsilon, plan.claim.epsilon)
    return (
        f"{each.study}, round {each.number}: asks {counted(len(each.asked), 'device')} for {what}, by {plan.mechanism} at "
        f"ε = {plan.claim.epsilon:g} (exact: {exact})."
    )


def _scores(learned: StudyOutcome, collection: Collection) -> str:
    card = result_card(learned, collection.settings)
    scores = {
        part: "not known" if score is None else percent(score) for part, score in learned.scores.items()
    }
    beside = ", ".join(f"{BESIDE[part]} {scores[part]}" for part in scores if part in BESIDE)
    return (
        f"{learned.spec.method}: {card['metric']} {scores['method']} on "
        f"{counted(card['labels']['held_out'], 'held-out user')}; beside it: {beside}.\n  {card['verdict']}\n  "
        f"{card['statement']}"
    )


def _same_alone(collection: Collection, learned: StudyOutcome, sent: Iterable[SentReport]) -> bool:
    """Return whether the method gives the same in this process, from the devices' bytes, not the database."""
    told = []
    for replayed in learned.replayed:
        whole = replayed.plan.part(asked_users(replayed.plan, len(collection.ids)).tolist())
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
        yield lambda work, people: list(map(work, people))
        return
    # A new process holds nothing of this one.
    with get_context("spawn").Pool(count, leave_interrupts) as pool:
        yield pool.map


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
