"""The books of a device: agreements, and a line for every charge with the answer that it paid for. One SQLite file.

Every call opens the file and closes it again. What is written in a transaction is on the disk when it ends, or was never there.
The row of its owner is not in it, nor anything that was not randomized, but the level that a spending may tell: the file is the owner's.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.client.agreement import Agreement, Cap, Offer
from graphveil.client.key_chain import KeyChain
from graphveil.client.witness import Mark, connect, locked_witness, unusable
from graphveil.errors import InputError, StoreError
from graphveil.privacy import SignedSuccession

# Marks the file as ours, among all that SQLite writes ("gvd" and a byte), and says how it is laid out.
OURS, LAYOUT = 0x67766400, 2
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
        """How far they have come."""
        return Mark(*self._connection.execute("SELECT count, last, before FROM device").fetchone())

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
        """Put down how the keys of a collection passed on; what is there stays."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO successions VALUES (?, ?, ?, ?, ?)",
            [
                (chain.collection, number, each.payload, each.old, each.new)
                for number, each in enumerate(chain.statements, 1)
            ],
        )

    def agree(self, agreement: Agreement) -> None:
        """Put down an agreement, for good."""
        self._connection.execute(
            "INSERT INTO agreements VALUES (?, ?, NULL)", (agreement.collection, write_agreement(agreement))
        )

    def row_given(self, collection: str) -> int | None:
        """When the raw row was given to a collection by consent, in seconds since 1970."""
        found = self._connection.execute(
            "SELECT row_given FROM agreements WHERE collection = ?", (collection,)
        ).fetchone()
        return None if found is None else found[0]

    def give_row(self, collection: str, now: int) -> None:
        """Put down that the raw row is given."""
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
        found = self._connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM lines WHERE collection = ? AND digest = ?",
            (collection, digest),
        ).fetchone()
        return None if found is None else _line(found)

    def charge(self, lines: Sequence[Line]) -> Mark:
        """Put down charges, and give the books a new mark."""
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
    with _sentences(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(connect(file)) as connection:
            # Whoever makes it does so alone; the witness is there first.
            connection.execute("BEGIN IMMEDIATE")
            ours, layout = (_pragma(connection, name) for name in ("application_id", "user_version"))
            if (ours, layout) == (0, 0) and not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                _lay_out(connection, witnesses)
            elif ours != OURS:
                raise StoreError(f"{str(file)!r} is no device's file: name another one")
            elif layout == 1:
                _add_successions(connection)
            elif layout != LAYOUT:
                raise StoreError(
                    f"{str(file)!r} was written by another graphveil (layout {layout}, this one reads {LAYOUT}): update it"
                )
            (instance,) = connection.execute("SELECT instance FROM device").fetchone()
            connection.execute("COMMIT")
            return str(instance)


@contextmanager
def transaction(file: Path) -> Iterator[Books]:
    """The books, alone; what is written is kept as a whole if nothing is raised, and else not at all."""
    with _sentences(file), closing(connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield Books(connection)
        connection.execute("COMMIT")


def _lay_out(connection: sqlite3.Connection, witnesses: Path) -> None:
    instance, mark = secrets.token_hex(16), Mark(0, secrets.token_hex(16))
    with locked_witness(witnesses, instance) as witness:
        witness.see(mark)
    for table in TABLES:
        connection.execute(table)
    _add_successions(connection)
    connection.execute("INSERT INTO device VALUES (1, ?, ?, ?, '')", (instance, mark.count, mark.last))
    connection.execute(f"PRAGMA application_id = {OURS}")


def _add_successions(connection: sqlite3.Connection) -> None:
    connection.execute(SUCCESSIONS)
    connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def _sentences(file: Path) -> Iterator[None]:
    """What SQLite and the operating system complain of, in a sentence."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise unusable(file, error) from None


def _line(row: tuple[Any, ...]) -> Line:
    fields = dict(zip(COLUMNS, row, strict=True))
    return Line(**{**fields, "costs": tuple(json.loads(fields["costs"]))})


def write_agreement(agreement: Agreement) -> str:
    """An agreement as JSON."""
    told = asdict(agreement)
    told["offer"]["key"] = agreement.offer.key.hex()
    return json.dumps(told)


def read_agreement(text: str) -> Agreement:
    """An agreement from what `write_agreement` wrote."""
    told = json.loads(text)
    try:
        return Agreement(**{**_tuples(told), "offer": _offer(told["offer"]), "cap": _cap(told["cap"])})
    except (InputError, KeyError, TypeError):
        raise StoreError(
            "an agreement in the device's file is damaged: restore the file, or enrol anew"
        ) from None


def _offer(told: dict[str, Any]) -> Offer:
    return Offer(**{**_tuples(told), "key": bytes.fromhex(told["key"]), "cap": _cap(told["cap"])})


def _cap(told: dict[str, Any]) -> Cap:
    return Cap(**_tuples(told))


def _tuples(told: dict[str, Any]) -> dict[str, Any]:
    """Lists of JSON as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
