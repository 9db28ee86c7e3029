"""The books of a device: agreements, and a line for every charge with the answer that it paid for. One SQLite file.

Every call opens the file and closes it again. What is written in a transaction is on the disk when it ends, or was never there.
The row of its owner is not in it, nor anything that was not randomized, but the level that a spending may tell: the file is the owner's.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.client.agreement import RESTORE, Agreement, read_agreement, write_agreement
from graphveil.client.keys import KeyChain
from graphveil.client.witness import Mark, Witness, check_types, connect, locked_witness, usable
from graphveil.errors import RefusalError, StoreError
from graphveil.privacy import SignedSuccession
from graphveil.privacy.credential import new_credential

# Marks the file as ours, among all that SQLite writes ("gvd" and a byte), and says how it is laid out.
OURS, LAYOUT = 0x67766400, 3
# More than anybody makes; one more must fit into SQLite's integers.
MAX_CHARGES = 1 << 53
TABLES = (
    """CREATE TABLE device (
        id INTEGER PRIMARY KEY CHECK (id = 1), instance TEXT NOT NULL,
        count INTEGER NOT NULL, last TEXT NOT NULL, before TEXT NOT NULL
    )""",
    "CREATE TABLE agreements (collection TEXT PRIMARY KEY, agreement TEXT NOT NULL, row_given INTEGER)",
    """CREATE TABLE lines (
        id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, digest TEXT, period INTEGER NOT NULL,
        costs TEXT NOT NULL, delta REAL NOT NULL, spent REAL NOT NULL, exact REAL NOT NULL, time INTEGER NOT NULL,
        round INTEGER, plan TEXT, report TEXT, envelope BLOB,
        UNIQUE (collection, digest)
    )""",
)
# What layout 2 has besides: how keys of collections passed to others.
SUCCESSIONS = """CREATE TABLE successions (
    collection TEXT NOT NULL, number INTEGER NOT NULL, payload BLOB NOT NULL, old BLOB NOT NULL, new BLOB NOT NULL,
    PRIMARY KEY (collection, number)
)"""
# Where a collector has told of more answers than the books know: how many, and how many of them the owner has accounted for. Versions that do
# not know the table pass over it.
COUNTS = """CREATE TABLE IF NOT EXISTS counts (
    collection TEXT PRIMARY KEY, told INTEGER NOT NULL, accepted INTEGER NOT NULL
)"""
# What layout 3 has besides: credentials that the device has drawn. ``drawn`` becomes ``current`` when a collector has registered it.
CREDENTIALS = """CREATE TABLE credentials (
    collection TEXT PRIMARY KEY, current TEXT, drawn TEXT, former TEXT, token BLOB
)"""


@dataclass(frozen=True, repr=False)
class Credentials:
    """The credentials by which a device proves itself to one collection.

    ``current`` is the one that the device has drawn and the collector has registered, ``former`` one that a collector of an earlier version made, as
    long as there is no other. ``token`` is the SHA-256 of the token that was used last; books of earlier layouts do not say it.
    """

    current: str | None = None
    former: str | None = None
    token: bytes | None = None


@dataclass(frozen=True)
class Line:
    """One charge. ``costs`` are those of each level, which decide; ``spent`` is what the owner's own level cost.

    A line without a plan is what the owner said was spent before: see `Device.recover`.
    """

    collection: str
    digest: str | None
    period: int
    costs: tuple[float, ...]
    delta: float
    spent: float
    exact: float
    time: int
    round: int | None = None
    # What was asked, in a few words of the plan: mechanism, subject, of.
    plan: str | None = None
    report: str | None = None
    envelope: bytes | None = None


# The answer comes last.
COLUMNS = tuple(Line.__dataclass_fields__)


class Books:
    """The books while a transaction is open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def mark(self) -> Mark:
        """Return the number of charges and the last marks of the books."""
        return Mark(*self._one("SELECT count, last, before FROM device"))

    def _one(self, query: str, *values: Any) -> Any:
        """The first row that a query gives; None where it gives none."""
        return self._connection.execute(query, values).fetchone()

    def continue_from(self, witness: Witness) -> bool:
        """Return whether the books are those that the witness has seen last."""
        seen = witness.mark
        return seen is not None and self.mark.continues(seen)

    def agreements(self) -> list[Agreement]:
        """All agreements, in the order of enrolment, each with the key that counts now."""
        rows = self._connection.execute("SELECT agreement FROM agreements ORDER BY rowid").fetchall()
        return [self._with_key(read_agreement(text)) for (text,) in rows]

    def _with_key(self, agreement: Agreement) -> Agreement:
        return replace(agreement, offer=replace(agreement.offer, key=self.chain(agreement).current))

    def chain(self, agreement: Agreement) -> KeyChain:
        """The keys of a collection, as far as the device has followed them."""
        rows = self._connection.execute(
            "SELECT payload, old, new FROM successions WHERE collection = ? ORDER BY number",
            (agreement.collection,),
        )
        statements = tuple(SignedSuccession(*row) for row in rows)
        first = statements[0].statement.before if statements else agreement.offer.key
        return KeyChain(agreement.collection, first, statements)

    def keep_chain(self, chain: KeyChain) -> None:
        """Record how the keys of a collection passed on; what is there stays."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO successions VALUES (?, ?, ?, ?, ?)",
            [
                (chain.collection, number, each.payload, each.old, each.new)
                for number, each in enumerate(chain.statements, 1)
            ],
        )

    def agree(self, agreement: Agreement) -> None:
        """Record an agreement, for good."""
        self._connection.execute(
            "INSERT INTO agreements VALUES (?, ?, NULL)", (agreement.collection, write_agreement(agreement))
        )

    def credentials(self, collection: str) -> Credentials:
        """Return the credentials of the device for a collection."""
        found = self._one("SELECT current, former, token FROM credentials WHERE collection = ?", collection)
        return Credentials(*(found or ()))

    def draw_credential(self, collection: str, token: bytes | None) -> str:
        """The credential to register by a token: drawn once, and the same until it is registered and after.

        A credential that an earlier collector made is exchanged without a token.
        """
        held = self.credentials(collection)
        if held.current is not None and held.token == token:
            return held.current
        self._connection.execute(
            "INSERT INTO credentials (collection, drawn) VALUES (?, ?) "
            "ON CONFLICT (collection) DO UPDATE SET drawn = coalesce(drawn, excluded.drawn)",
            (collection, new_credential()),
        )
        return str(self._one("SELECT drawn FROM credentials WHERE collection = ?", collection)[0])

    def confirm_credential(self, collection: str, token: bytes | None = None) -> None:
        """Record that the credential that was drawn is registered, by this token: it is the only one from now on."""
        self._connection.execute(
            "UPDATE credentials SET current = drawn, drawn = NULL, former = NULL WHERE collection = ? AND drawn IS NOT NULL",
            (collection,),
        )
        if token is not None:
            self.keep_token(collection, token)

    def keep_token(self, collection: str, token: bytes) -> None:
        """Record which token is used up, by its SHA-256."""
        self._connection.execute("UPDATE credentials SET token = ? WHERE collection = ?", (token, collection))

    def row_given(self, collection: str) -> int | None:
        """Return when the raw row was given to a collection by consent, in seconds since 1970."""
        found = self._one("SELECT row_given FROM agreements WHERE collection = ?", collection)
        return None if found is None else found[0]

    def give_row(self, collection: str, now: int) -> None:
        """Record that the raw row is given."""
        self._connection.execute(
            "UPDATE agreements SET row_given = coalesce(row_given, ?) WHERE collection = ?", (now, collection)
        )

    def lines(self, collection: str) -> list[Line]:
        """All charges of a collection, in order, without the answers."""
        rows = self._connection.execute(
            f"SELECT {', '.join(COLUMNS[:-1])}, NULL FROM lines WHERE collection = ? ORDER BY id",
            (collection,),
        )
        return [_line(row) for row in rows]

    def find(self, collection: str, digest: str) -> Line | None:
        """The charge of a plan that was answered before, with its answer."""
        wanted = f"SELECT {', '.join(COLUMNS)} FROM lines WHERE collection = ? AND digest = ?"
        found = self._one(wanted, collection, digest)
        return None if found is None else _line(found)

    def misses_answers(self, collection: str) -> bool:
        """Whether a collector has more answers than the books know, and the owner has not accounted for them."""
        told, accepted = self._counts(collection)
        return told > accepted + self._answers(collection)

    def keep_count(self, collection: str, told: int) -> None:
        """Record how many answers a collector has, if that is more than the books know."""
        if told > max(self._answers(collection), self._counts(collection)[0]):
            self._connection.execute(
                "INSERT INTO counts VALUES (?, ?, 0) ON CONFLICT (collection) DO UPDATE SET told = excluded.told",
                (collection, told),
            )

    def accept_count(self, collection: str) -> None:
        """Record that the owner has accounted for all answers that the collector has."""
        self._connection.execute(
            "UPDATE counts SET accepted = max(accepted, told - ?) WHERE collection = ?",
            (self._answers(collection), collection),
        )

    def _counts(self, collection: str) -> tuple[int, int]:
        return self._one("SELECT told, accepted FROM counts WHERE collection = ?", collection) or (0, 0)

    def _answers(self, collection: str) -> int:
        counted = "SELECT count(*) FROM lines WHERE collection = ? AND digest IS NOT NULL"
        return int(self._one(counted, collection)[0])

    def charge(self, lines: Sequence[Line]) -> Mark:
        """Record charges, and give the books a new mark."""
        statement = f"INSERT INTO lines ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"
        for line in lines:
            values = {name: getattr(line, name) for name in COLUMNS} | {"costs": json.dumps(line.costs)}
            self._connection.execute(statement, tuple(values.values()))
        return self.move(self.mark.count + 1)

    def move(self, count: int) -> Mark:
        """Give the books a new mark at this count."""
        mark = Mark(count, secrets.token_hex(16), self.mark.last)
        self._connection.execute(
            "UPDATE device SET count = ?, last = ?, before = ?", (mark.count, mark.last, mark.before)
        )
        return mark


def open_books(file: Path, witnesses: Path) -> str:
    """Make the file if there is none, with a witness of it; its instance, a random name."""
    with usable(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(connect(file)) as connection:
            # Only one process makes it; the witness is there first.
            connection.execute("BEGIN IMMEDIATE")
            (ours,) = connection.execute("PRAGMA application_id").fetchone()
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if (ours, layout) == (0, 0) and not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                _lay_out(connection, witnesses)
            elif ours != OURS:
                raise StoreError(f"{str(file)!r} is no device's file: name another one")
            elif layout in (1, 2):
                _bring_up_to_date(connection, layout)
            elif layout != LAYOUT:
                raise StoreError(
                    f"{str(file)!r} has layout {layout}, this graphveil reads {LAYOUT}: update it"
                )
            connection.execute(COUNTS)
            instance = _sound(connection)
            connection.execute("COMMIT")
            return instance


@contextmanager
def transaction(file: Path) -> Iterator[Books]:
    """The books, alone; what is written is kept as a whole if nothing is raised, and else not at all."""
    with usable(file), closing(connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield Books(connection)
        connection.execute("COMMIT")


def check_memory(witness: Witness, books: Books, collection: str) -> None:
    """Refuse where the books are not those that the witness has seen last, or know less than the collector has.

    Parameters
    ----------
    witness
        The witness of the device, locked.
    books
        The books, in a transaction.
    collection
        The collection's id.
    """
    if not books.continue_from(witness):
        found = "the books of this device were restored from a backup, copied or moved"
    elif books.misses_answers(collection):
        found = "the collector has more answers of this device than its books know: these come from a backup"
    else:
        witness.see(books.mark)
        return
    raise RefusalError(
        "memory",
        f"{found}, and may not know all that was spent: nothing is answered until the owner says how much it was (`graphveil answer "
        "--spent E`, or Device.recover)",
    )


def _sound(connection: sqlite3.Connection) -> str:
    """Return the instance of books in which every value has its type, and everything can be read."""
    check_types(connection)
    found = connection.execute("SELECT instance, count FROM device").fetchone()
    if found is None or re.fullmatch(r"[0-9a-f]{32}", found[0]) is None or not 0 <= found[1] < MAX_CHARGES:
        raise StoreError(f"the device's file is damaged, it does not say whose it is: {RESTORE}")
    books = Books(connection)
    for agreement in books.agreements():
        books.lines(agreement.collection)
    return str(found[0])


def _lay_out(connection: sqlite3.Connection, witnesses: Path) -> None:
    instance, mark = secrets.token_hex(16), Mark(0, secrets.token_hex(16))
    with locked_witness(witnesses, instance) as witness:
        witness.see(mark)
    for table in (*TABLES, SUCCESSIONS, CREDENTIALS):
        connection.execute(table)
    connection.execute("INSERT INTO device VALUES (1, ?, ?, ?, '')", (instance, mark.count, mark.last))
    connection.execute(f"PRAGMA application_id = {OURS}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _bring_up_to_date(connection: sqlite3.Connection, layout: int) -> None:
    """Add what earlier layouts do not have; credentials stood in agreements."""
    if layout == 1:
        connection.execute(SUCCESSIONS)
    connection.execute(CREDENTIALS)
    for collection, text in connection.execute("SELECT collection, agreement FROM agreements").fetchall():
        try:
            told = json.loads(text)
            former = told.pop("credential")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise StoreError(f"an agreement in the device's file is damaged: {RESTORE}") from None
        connection.execute("INSERT INTO credentials (collection, former) VALUES (?, ?)", (collection, former))
        connection.execute(
            "UPDATE agreements SET agreement = ? WHERE collection = ?", (json.dumps(told), collection)
        )
    connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _line(row: tuple[Any, ...]) -> Line:
    fields = dict(zip(COLUMNS, row, strict=True))
    try:
        costs = tuple(json.loads(fields["costs"]))
        sound = costs and all(0 <= cost < math.inf for cost in (*costs, fields["delta"]))
    except (ValueError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise StoreError(f"a charge in the device's file is damaged: {RESTORE}")
    return Line(**{**fields, "costs": costs})
