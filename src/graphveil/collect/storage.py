"""A collection: public graph, roster, rounds, reports and results, in a folder and a database."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select, text, update

from graphveil.audit import Audit
from graphveil.collect import roster, rounds
from graphveil.collect.database import Database, check_url, lock_exclusively
from graphveil.collect.folder import (
    DATABASE,
    KEY,
    OWNER_ONLY,
    SETTINGS,
    CollectionSettings,
    database_url,
    graph_file,
    read_settings,
    write_settings,
)
from graphveil.collect.keys import KeyRing, SigningKey, rotate_key
from graphveil.collect.public_graph import PublicGraph, check_links
from graphveil.collect.report_bytes import read_messages
from graphveil.collect.roster import Invited, Roster, note
from graphveil.collect.rounds import PublishedRound
from graphveil.collect.schema import ACTIONS, COLLECTION, GRAPHS, REPORTS, RESULTS, ROSTER, ROUNDS, ROWS
from graphveil.errors import InputError, StoreError
from graphveil.graphs.divide import divide
from graphveil.graphs.graph import Graph
from graphveil.graphs.npz import Raw
from graphveil.graphs.panel import Panel
from graphveil.graphs.splits import GivenSplit, RandomSplit
from graphveil.mechanisms import Reports
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy import Plan, SignedSuccession, Succession

ROW = np.dtype("<f8")


@dataclass(frozen=True)
class KeptResult:
    """A result that was learned; ``outdated`` where reports that it was learned from were forgotten since."""

    number: int
    card: dict[str, Any]
    made: int
    outdated: bool


class Collection:
    """Everything that was collected; made by `create_collection`, opened by `open_collection`."""

    def __init__(self, folder: Path, settings: CollectionSettings, database: Database) -> None:
        self.folder, self.settings, self.database = folder, settings, database
        self._ring = KeyRing(folder)

    @property
    def key(self) -> SigningKey:
        """The key that signs questions."""
        return self._ring.key

    @property
    def successions(self) -> tuple[SignedSuccession, ...]:
        """The signed changes of the key, if any."""
        return self._ring.successions

    def rotate(self) -> Succession:
        """Pass on to a new key; the old one is deleted."""
        told = rotate_key(self.folder, self.settings.id)
        with self.database.writing() as connection:
            note(connection, "rotate", f"change {told.number} of the key")
        return told

    # -- the graph

    @property
    def private_links(self) -> bool:
        """Whether people are asked for their links: then the graph has none."""
        return self.settings.private_links

    @property
    def versions(self) -> dict[int, int]:
        """The number of users in each version of the graph, by version."""
        with self.database.reading() as connection:
            return read_versions(connection)

    def public_graph(self, version: int | None = None) -> PublicGraph:
        """Links, labels and ids as they were given; the current version by default."""
        with self.database.reading() as connection:
            digests = {row.version: row.sha256 for row in connection.execute(select(GRAPHS))}
        chosen = max(digests) if version is None else version
        if chosen not in digests:
            raise InputError(f"the graph has the versions 1..{max(digests)}, got {version}")
        return read_graph(self.folder, chosen, digests[chosen])

    def graph(self, version: int | None = None, *, seed: int = 0) -> Graph:
        """Return the graph for a method, with known labels split as the file says, or at random by seed.

        Labels of test users are held back (`labels` has them). It has no features, only their number.
        """
        public = self.public_graph(version)
        recipe: GivenSplit | RandomSplit = GivenSplit(**public.masks) if public.masks else RandomSplit()
        known = bool((public.labels >= 0).any())
        raw = Raw(edges=public.edges, labels=public.labels if known else None)
        graph, _ = divide("collection", raw, recipe, seed, users=public.users)
        settings = self.settings
        return replace(
            graph,
            feature_count=settings.dims,
            public_range=None if settings.range is None else PublicRange.of(settings.range),
            binary=settings.binary,
            class_count=max(graph.class_count, settings.classes),
        )

    @property
    def ids(self) -> NDArray[np.str_]:
        """The external id of each node."""
        return self.public_graph().ids

    @property
    def labels(self) -> NDArray[np.int64]:
        """All labels that the operator knows, those of test users too; -1 where none is known."""
        return self.public_graph().labels

    def add_graph(self, later: PublicGraph) -> int:
        """Add a later version of the graph, as links change, and return its number."""
        check_links(later, self.settings)
        merged = self.public_graph().extended_by(later)
        with self.database.writing() as connection:
            lock_exclusively(connection)
            version = 1 + max(read_versions(connection))
            keep_graph(connection, self.folder, version, merged)
            note(connection, "graph", f"version {version}, {merged.users} users")
        return version

    # -- people

    def roster(self) -> Roster:
        """Everybody who was invited, and what those who enrolled agreed to."""
        with self.database.reading() as connection:
            return roster.read_roster(connection)

    def invite(self, again: Iterable[str] = ()) -> list[Invited]:
        """Make tokens for all who have none yet, and new ones for those of ``again``, enrolled or not."""
        ids = [str(name) for name in self.ids]
        with self.database.writing() as connection:
            renewed = roster.invite_again(connection, again)
            invited = roster.invite(connection, ids) + renewed
            note(connection, "invite", f"{len(invited)} users")
        return invited

    def node_of(self, external: str) -> int:
        """Return the node of an external id."""
        found = np.flatnonzero(self.ids == external)
        if not found.size:
            raise InputError(f"nobody in this collection has the id {external!r}: ids are those of the graph")
        return int(found[0])

    def forget(self, node: int) -> int:
        """Delete what a user has sent and return the number of reports; nobody is asked again for it."""
        with self.database.writing() as connection:
            count = roster.forget(connection, node)
            note(connection, "forget", "1 user")
        self.overwrite_deleted()
        return count

    def delete_expired(self) -> int:
        """Delete what is older than the collection keeps it; how many reports and rows went. They are overwritten by `overwrite_deleted`."""
        if self.settings.retention is None:
            return 0
        with self.database.writing() as connection:
            count = roster.delete_expired(connection, self.settings.retention)
            if count:
                note(connection, roster.EXPIRED, f"{count} reports and rows")
        return count

    def overwrite_deleted(self) -> None:
        """Leave nothing of what was deleted in the files of a database, as far as it allows; refused where others use it all the time."""
        if not self.database.wipe():
            raise StoreError(
                "everything is deleted, but others use the database, so its file and its log still hold copies: wait until exports and "
                "learning have ended, then run the same command again"
            )

    # -- rounds

    def rounds(self) -> list[PublishedRound]:
        """Return all rounds that were published, in order."""
        with self.database.reading() as connection:
            return rounds.read_rounds(connection, read_versions(connection))

    def round(self, number: int) -> PublishedRound:
        """Return one round."""
        with self.database.reading() as connection:
            return _round(connection, number)

    def publish(self, plan: Plan, expires: int, study: str = "") -> PublishedRound:
        """Publish a plan as the next round, open until it is closed.

        A plan that was published before is not published again: devices would have the same answer to it.

        Parameters
        ----------
        plan
            The plan.
        expires
            When devices stop answering it, in seconds since 1970.
        study
            The study that it is for: rounds of one study belong together.
        """
        with self.database.writing() as connection:
            lock_exclusively(connection)
            versions = read_versions(connection)
            return rounds.publish(connection, plan, expires, study, versions, self.settings, self.folder)

    def keep_audit(self, plan: Plan, found: Audit) -> None:
        """Write down that the audit of a plan held: a mechanism that does not come with the package is published after that alone."""
        with self.database.writing() as connection:
            rounds.keep_audit(connection, plan, found)

    def close(self, number: int, force: bool = False) -> PublishedRound:
        """Take no more reports for a round, so that it can be read; refused where few have answered."""
        with self.database.writing() as connection:
            lock_exclusively(connection)
            chosen = _round(connection, number)
            if chosen.closed:
                return chosen
            if chosen.answered < chosen.least and not force:
                raise InputError(
                    f"round {number} has {chosen.answered} answers, and is read from {chosen.least} on: wait, or close it "
                    "with --force"
                )
            connection.execute(update(ROUNDS).where(ROUNDS.c.number == number).values(closed=True))
            forced = ", forced" if force else ""
            note(connection, "close", f"round {number}, {chosen.answered} answers{forced}")
        return replace(chosen, closed=True)

    def reports(self, number: int) -> Reports:
        """The reports of a closed round in the order of its whole plan; who is silent is marked so."""
        with self.database.reading() as connection:
            chosen = _round(connection, number)
            if not chosen.closed:
                raise InputError(
                    f"round {number} is open, with {chosen.answered} of {len(chosen.asked)} answers: close it with "
                    f"`graphveil collect close DIR {number}`, then read it"
                )
            if chosen.deleted:
                raise InputError(
                    f"{chosen.deleted} reports of round {number} were deleted when their time was over: what is left does not "
                    "repeat what was learned, so it is not read"
                )
            # Words and not columns: nothing is converted on the way.
            rows = connection.execute(
                text("SELECT node, message FROM reports WHERE round = :number"), {"number": number}
            ).all()
        nodes = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        whole = chosen.whole
        order = np.argsort(whole)
        places = order[np.searchsorted(whole, nodes, sorter=order)] if len(rows) else nodes
        return read_messages(chosen.plan.build(), places, [row[1] for row in rows], len(whole))

    def panel(self) -> Panel | None:
        """Volunteers with their rows, clipped to the public range; None where nobody gave one."""
        with self.database.reading() as connection:
            rows = connection.execute(select(ROWS.c.node, ROWS.c.numbers).order_by(ROWS.c.node)).all()
        if not rows:
            return None
        nodes = np.array([row.node for row in rows], dtype=np.int64)
        numbers = np.frombuffer(b"".join(bytes(row.numbers) for row in rows), ROW)
        # What one volunteer can move is bounded by the range, as it is for everybody who reports.
        public = PublicRange.of(self.settings.range)
        clipped = np.clip(numbers.reshape(len(rows), self.settings.dims), public.low, public.high)
        return Panel(nodes, clipped.astype(np.float64))

    # -- results

    def keep_result(self, card: dict[str, Any], contributors: Iterable[int] = ()) -> int:
        """Keep what was learned; ``card["rounds"]`` are the numbers of the rounds that it was learned from. Its number.

        It is marked at once where one of the ``contributors`` was forgotten while it was being learned.
        """
        with self.database.writing() as connection:
            lock_exclusively(connection)
            forgotten = connection.execute(select(ROSTER.c.node).where(ROSTER.c.forgotten.is_(True)))
            outdated = not set(forgotten.scalars()).isdisjoint(map(int, contributors))
            kept = insert(RESULTS).values(card=json.dumps(card), made=int(time.time()), outdated=outdated)
            added = connection.execute(kept.returning(RESULTS.c.number)).scalar_one()
            note(connection, "learn", "1 result")
        return int(added)

    def results(self) -> list[KeptResult]:
        """Return all results, in order."""
        with self.database.reading() as connection:
            rows = connection.execute(select(RESULTS).order_by(RESULTS.c.number)).all()
        return [KeptResult(row.number, json.loads(row.card), row.made, bool(row.outdated)) for row in rows]

    def actions(self) -> list[tuple[int, str, str]]:
        """Return the actions of operators: the time, the action, and its extent."""
        with self.database.reading() as connection:
            rows = connection.execute(select(ACTIONS).order_by(ACTIONS.c.number)).all()
        return [(row.at, row.action, row.detail) for row in rows]

    def status(self) -> dict[str, Any]:
        """Return the status of the collection: users, rounds and results, in counts and without any id."""
        return {
            **self.settings.offered,
            "key": self.key.public.hex(),
            "rotations": len(self.successions),
            "users": self.public_graph().users,
            "graph": max(self.versions),
            **self.counts(),
            "rounds": [each.status() for each in self.rounds()],
            "results": [
                {"result": each.number, "method": each.card.get("method"), "outdated": each.outdated}
                for each in self.results()
            ],
        }

    def counts(self) -> dict[str, int]:
        """Return the numbers of users invited, enrolled, forgotten and volunteering, and of reports and rows.

        ``unregistered`` are those enrolled whose device has no credential of its own yet.
        """
        enrolled = ROSTER.c.credential.is_not(None)
        people = {
            "enrolled": enrolled,
            "unregistered": enrolled & ROSTER.c.derived.is_(True),
            "volunteered": ROSTER.c.volunteer.is_(True),
            "forgotten": ROSTER.c.forgotten.is_(True),
        }
        number = func.count()
        counts = {"invited": select(number).select_from(ROSTER)}
        counts |= {name: select(number).where(who) for name, who in people.items()}
        counts |= {table.name: select(number).select_from(table) for table in (REPORTS, ROWS)}
        with self.database.reading() as connection:
            return {name: int(connection.execute(each).scalar_one()) for name, each in counts.items()}


def _round(connection: Connection, number: int) -> PublishedRound:
    found = rounds.read_rounds(connection, read_versions(connection), number)
    if not found:
        raise InputError(f"there is no round {number}: `graphveil collect status` lists those that there are")
    return found[0]


def read_versions(connection: Connection) -> dict[int, int]:
    """Return the number of users in each version of the graph, by version."""
    return {row.version: row.users for row in connection.execute(select(GRAPHS.c.version, GRAPHS.c.users))}


def keep_graph(connection: Connection, folder: Path, version: int, public: PublicGraph) -> None:
    """Write a version of the public graph beside the others, and record its digest.

    Parameters
    ----------
    connection
        A writing transaction.
    folder
        The collection's folder.
    version
        The number of the version.
    public
        The graph.
    """
    file = graph_file(folder, version)
    public.write(file)
    connection.execute(
        insert(GRAPHS).values(
            version=version,
            users=public.users,
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
            added=int(time.time()),
        )
    )


@lru_cache(maxsize=4)
def read_graph(folder: Path, version: int, expected: str) -> PublicGraph:
    """Return the graph of a version, read once because it never changes.

    Parameters
    ----------
    folder
        The collection's folder.
    version
        The number of the version.
    expected
        The SHA-256 that its file must have.
    """
    file = graph_file(folder, version)
    try:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): restore the public graph") from None
    if found != expected:
        raise InputError(f"{file} was changed since it was made: restore it from a backup")
    return PublicGraph.read(file)


def create_collection(folder: Path | str, public: PublicGraph, settings: CollectionSettings) -> Collection:
    """Create a collection in a folder that holds none.

    Parameters
    ----------
    folder
        The folder.
    public
        The first version of the public graph.
    settings
        The settings; without an id the collection gets a new one.
    """
    folder = Path(folder)
    if (folder / SETTINGS).exists():
        raise InputError(f"{folder} holds a collection already: name another folder")
    if (folder / KEY).exists():
        raise InputError(f"{folder} holds an unfinished collection: delete it, or name another folder")
    check_links(public, settings)
    classes = max(settings.classes, int(public.labels.max(initial=-1)) + 1)
    settings = replace(settings, id=settings.id or uuid.uuid4().hex, classes=classes)
    url = check_url(database_url(folder, settings))
    # Rows of volunteers and the map from ids to pseudonyms stand in it: neither folder nor file is anybody else's.
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if settings.database is None:
        os.close(os.open(folder / DATABASE, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
    database = Database(url)
    with database.reading() as connection:
        if database.engine.dialect.has_table(connection, COLLECTION.name):
            raise InputError("the database holds a collection already: name another with --database")
    database.migrate()
    SigningKey.generate().write(folder / KEY)
    with database.writing() as connection:
        connection.execute(insert(COLLECTION).values(id=settings.id, purpose=settings.purpose))
        keep_graph(connection, folder, 1, public)
        note(connection, "init", f"{public.users} users")
    # Last: with this file the folder is a collection.
    write_settings(folder, settings)
    database.belong_to(settings.id)
    return Collection(folder, settings, database)


def migrate_collection(folder: Path | str) -> None:
    """Bring the database of a folder's collection up to date with this graphveil."""
    database = Database(database_url(Path(folder), read_settings(Path(folder))))
    database.migrate()
    database.close()


def open_collection(folder: Path | str) -> Collection:
    """Open the collection of a folder."""
    folder = Path(folder)
    settings = read_settings(folder)
    database = Database(database_url(folder, settings))
    database.check()
    database.belong_to(settings.id)
    return Collection(folder, settings, database)
