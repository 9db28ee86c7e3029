"""The SQLite file of results: finished units, trials of searches and results, safe against crashes and other processes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from graphveil.errors import StoreError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.result import MEASURED, RecordOrigin, Result, StoredResult, parse_json
from graphveil.experiments.unit import STAGES, RunUnit, UnitResult
from graphveil.number_format import counted
from graphveil.settings import settings
from graphveil.version import __version__, source_digest

# The file's name in the cache.
RESULTS = "results.sqlite"
ADD_UNIT = """INSERT OR REPLACE INTO units (setting, seed, part, data, source, version, time, unit)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
# This version's first, then the latest.
FIND_UNIT = """SELECT id, version, source, unit FROM units WHERE setting = ? AND seed = ? AND part = ? AND data = ?
    ORDER BY source = ? DESC, id DESC"""
ADD_TRIAL = "INSERT INTO trials (search, data, source, version, time, trial) VALUES (?, ?, ?, ?, ?, ?)"
# This version's first, then in the order in which they were finished.
FIND_TRIALS = """SELECT id, version, source, trial FROM trials WHERE search = ? AND data = ?
    ORDER BY source = ? DESC, id"""
# The same result again has the number and the tags that it had; it counts as the last one of its experiment.
# A clock that was set back makes no result an earlier one.
ADD_RESULT = """INSERT INTO results (source, time, result, digest)
    VALUES (?, max(?, coalesce((SELECT max(time) FROM results), '')), ?, ?)
    ON CONFLICT (digest) DO UPDATE SET time = excluded.time"""
Found = TypeVar("Found")
_UNIT = TypeAdapter(UnitResult)


def results_file() -> Path:
    """Return the file that all commands, and all calls from Python, keep their results in."""
    return settings().cache / RESULTS


def this_version() -> RecordOrigin:
    """Return the version and source digest of this graphveil."""
    return RecordOrigin(__version__, source_digest())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Reuse:
    """Stored records that were found, each counted once.

    ``broken`` ones are damaged; ``taken`` and ``left`` are those of another version that were used or not.
    """

    broken: set[int] = field(default_factory=set)
    taken: dict[int, RecordOrigin] = field(default_factory=dict)
    left: dict[int, RecordOrigin] = field(default_factory=dict)

    def sentences(self, what: str) -> list[str]:
        """Return what has to be said of them; ``what`` is "runs" or "trials"."""
        said = []
        if self.broken:
            were = "was" if len(self.broken) == 1 else "were"
            said.append(f"{counted(len(self.broken), 'kept record')} cannot be read and {were} skipped.")
        if self.taken:
            said.append(f"Reused {what} of another version: {_origins(self.taken)}.")
        if self.left:
            said.append(f"Not reused, {what} of another version (--any-version does): {_origins(self.left)}.")
        return said


def _origins(records: dict[int, RecordOrigin]) -> str:
    """Return how many there are of each version.

    >>> _origins({1: RecordOrigin("1.0", "ab" * 32), 2: RecordOrigin("1.0", "ab" * 32)})
    '2 (graphveil 1.0, source abababababab)'
    """
    counts = sorted(Counter(map(str, records.values())).items())
    return ", ".join(f"{count} ({origin})" for origin, count in counts)


class ResultStore:
    """The finished units, trials and results in one file; each is on the disk when the call that adds it returns.

    Parameters
    ----------
    file
        The SQLite file; that of all commands by default. It is made by the first call that adds something.
    any_version
        Whether units and trials that another version of graphveil has computed are found.
    fresh
        Whether only those units are found that this object has added.
    """

    def __init__(self, file: Path | None = None, *, any_version: bool = False, fresh: bool = False) -> None:
        self.file = results_file() if file is None else file
        self.any_version = any_version
        self._added: set[str] | None = set() if fresh else None
        self._units, self._trials = Reuse(), Reuse()

    def check(self) -> None:
        """Reject, before anything is computed, a file that could not be written."""
        # What runs from now on is what was there now, whatever is written into the source meanwhile.
        this_version()
        # SQLite opens a file that may only be read, and begins with it, without a word: only a change is refused.
        change(self.file, ("DELETE FROM units WHERE id < 0", [()]))

    def sentences(self) -> list[str]:
        """Return what has to be said about units and trials that were found."""
        return self._units.sentences("runs") + self._trials.sentences("trials")

    def add_unit(self, spec: Experiment, unit: UnitResult) -> None:
        """Store a finished unit; the latest of the same unit is kept."""
        origin, wanted = this_version(), RunUnit(spec, unit.part, unit.run)
        record = json.dumps({**vars(unit), "privacy": unit.privacy.to_dict()})
        row = (*_key(wanted, unit.workers), origin.source, origin.version, _now(), record)
        change(self.file, (ADD_UNIT, [row]))
        if self._added is not None:
            self._added.add(wanted.key)

    def find_units(
        self, spec: Experiment, parts: Sequence[Part], alone: bool = False, workers: int | None = None
    ) -> list[UnitResult]:
        """Return the stored units of an experiment.

        Parameters
        ----------
        alone
            Whether to return only units that ran alone on the machine.
        workers
            The number of workers that shared a unit. Results of several workers differ by rounding, so only
            units of the same number are found.
        """
        wanted = [RunUnit(spec, part, run) for part, run in product(parts, range(spec.runs))]
        if self._added is not None:
            wanted = [unit for unit in wanted if unit.key in self._added]
        source = this_version().source
        rows = select(self.file, FIND_UNIT, *((*_key(unit, workers), source) for unit in wanted))
        chosen = [self._chosen(each, unit, alone) for each, unit in zip(rows, wanted, strict=True)]
        return [unit for unit in chosen if unit is not None]

    def _chosen(self, rows: list[tuple[Any, ...]], wanted: RunUnit, alone: bool) -> UnitResult | None:
        """Return the first that can be read and may be used; which run it is depends on who asks."""
        other: dict[int, RecordOrigin] = {}
        for number, version, source, text in rows:
            origin = RecordOrigin(str(version), str(source))
            ours = origin.source == this_version().source
            if not ours and not self.any_version:
                other = other or {number: origin}
                continue
            try:
                unit = _UNIT.validate_json(text, strict=True)
            except (ValidationError, TypeError):
                unit = None
            if unit is None or not unit.seconds.keys() >= {*STAGES}:
                self._units.broken.add(number)
            elif unit.alone or not alone:
                self._units.taken |= {} if ours else {number: origin}
                return replace(unit, part=wanted.part, run=wanted.run)
        self._units.left |= other
        return None

    def add_trial(self, search: str, data: str, trial: dict[str, Any]) -> None:
        """Store a finished trial.

        Parameters
        ----------
        search
            The key of the search: everything that decides its numbers, except the data.
        data
            The digest of the data.
        """
        origin = this_version()
        row = (search, data, origin.source, origin.version, _now(), json.dumps(trial))
        change(self.file, (ADD_TRIAL, [row]))

    def find_trials(
        self, search: str, data: str, read: Callable[[Any], Found | None], point: Callable[[Found], Any]
    ) -> list[Found]:
        """Return the finished trials of a search, each point once, in the order in which they finished.

        Parameters
        ----------
        search, data
            As in `add_trial`.
        read
            Reads a trial from its text; None for a damaged record.
        point
            Returns the point of a trial.
        """
        source = this_version().source
        (rows,) = select(self.file, FIND_TRIALS, (search, data, source))
        trials: list[Found] = []
        for number, version, by, text in rows:
            origin = RecordOrigin(str(version), str(by))
            usable = origin.source == source or self.any_version
            trial = read(text)
            if trial is None:
                self._trials.broken |= {number} if usable else set()
            elif all(point(trial) != point(other) for other in trials):
                trials += [trial] if usable else []
                if origin.source != source:
                    (self._trials.taken if usable else self._trials.left)[number] = origin
        return trials

    def add(self, result: Result) -> None:
        """Keep a result, an interrupted one too; one that is there already is not kept twice."""
        now, source = _now(), this_version().source
        kept = {"interrupted": result.interrupted, "seeds": result.seeds, "data_digest": result.data_digest}
        whole = {**result.to_dict(), "data": result.data_name, "spec": asdict(result.experiment), **kept}
        same = {key: value for key, value in whole.items() if key not in MEASURED}
        written = json.dumps([source, same], sort_keys=True, default=str)
        digest = hashlib.sha256(written.encode()).hexdigest()
        row = (source, now, json.dumps({**whole, "time": now}, default=str), digest)
        change(self.file, (ADD_RESULT, [row]))

    def results(self, skipped: Callable[[str], None] = lambda _: None) -> list[StoredResult]:
        """Return all results, in the order in which they were kept. Damaged ones are left out; ``skipped`` is told how many."""
        (rows,) = select(self.file, "SELECT id, source, result FROM results ORDER BY time, id", ())
        (tagged,) = select(self.file, "SELECT result, name FROM tags ORDER BY name", (), since=2)
        tags: dict[int, list[str]] = {}
        for number, name in tagged:
            tags.setdefault(number, []).append(name)
        found, damaged = [], 0
        for number, source, text in rows:
            own = {"number": number, "tags": tags.get(number, ()), "source": str(source)}
            try:
                found.append(StoredResult.model_validate({**parse_json(text), **own}))
            except (ValidationError, TypeError):
                damaged += 1
        if damaged:
            skipped(
                f"{self.file}: {damaged} of {len(rows)} records {'is' if damaged == 1 else 'are'} damaged and skipped"
            )
        return found

    def tag(self, numbers: Iterable[int], add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add and remove tags of results in one transaction; results deleted meanwhile stay deleted.

        Parameters
        ----------
        numbers
            The numbers of the results.
        add, remove
            The tags to add to each, and to remove from each.
        """
        give = "INSERT OR IGNORE INTO tags (result, name) SELECT id, ? FROM results WHERE id = ?"
        take = "DELETE FROM tags WHERE name = ? AND result = ?"
        chosen = list(numbers)
        change(self.file, (give, [*product(add, chosen)]), (take, [*product(remove, chosen)]))

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete results with their tags, all at once. The units that they were made of stay."""
        chosen = [(number,) for number in numbers]
        statements = ("DELETE FROM tags WHERE result = ?", "DELETE FROM results WHERE id = ?")
        change(self.file, *((statement, chosen) for statement in statements))


def _key(unit: RunUnit, workers: int | None) -> tuple[str, str, str, str | None]:
    """Setting, seed, part and data of a unit, and how many workers shared it. A seed may be larger than SQLite's integers."""
    shared = unit.key if workers is None else f"{unit.key} by {workers} workers"
    return shared, str(unit.seed), unit.part, unit.digest


# How long to wait for other processes that write, in seconds; each needs a few milliseconds.
PATIENCE = 60.0
# Marks the file as ours, among all that SQLite writes ("gvl" and a byte).
OURS = 0x67766C00
# What makes each layout out of the one before it: a file of an old one is read as it is, and brought up to date by the first
# command that writes to it. A change of the tables is one more entry, and no other is ever changed again.
_FIRST = (
    """CREATE TABLE units (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        setting TEXT NOT NULL, seed TEXT NOT NULL, part TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
        version TEXT NOT NULL, time TEXT NOT NULL, unit TEXT NOT NULL,
        UNIQUE (setting, seed, part, data, source)
    )""",
    """CREATE TABLE trials (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        search TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
        version TEXT NOT NULL, time TEXT NOT NULL, trial TEXT NOT NULL
    )""",
    "CREATE INDEX trials_by_search ON trials (search, data)",
    """CREATE TABLE results (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL, time TEXT NOT NULL, result TEXT NOT NULL
    )""",
)
# Results have a digest, so that the same one is not there twice (those of before have none), and tags.
_TAGS = (
    "ALTER TABLE results ADD COLUMN digest TEXT",
    "CREATE UNIQUE INDEX results_by_digest ON results (digest)",
    """CREATE TABLE tags (
        result INTEGER NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (result, name)
    ) WITHOUT ROWID""",
)
LAYOUTS = {1: _FIRST, 2: _TAGS}
LAYOUT = max(LAYOUTS)


def select(
    file: Path, query: str, *parameters: tuple[Any, ...], since: int = 1
) -> list[list[tuple[Any, ...]]]:
    """Return the rows of a query for each of the parameters; no rows if the file does not exist yet.

    Parameters
    ----------
    parameters
        The values of the query's placeholders, a tuple for each execution.
    since
        The first file layout that has what the query reads; an older file gives no rows.
    """
    with _sentences(file):
        if not file.exists():
            return [[] for _ in parameters]
        with closing(_reading(file)) as connection:
            if _layout(file, connection) < since:
                return [[] for _ in parameters]
            return [connection.execute(query, each).fetchall() for each in parameters]


def change(file: Path, *statements: tuple[str, Sequence[tuple[Any, ...]]]) -> None:
    """Execute statements, each with all its parameters, in one transaction, which is on disk at return."""
    with _writing(file) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement, parameters in statements:
            connection.executemany(statement, parameters)
        connection.execute("COMMIT")


@contextmanager
def _writing(file: Path) -> Iterator[sqlite3.Connection]:
    """Open the file to be written; it is made where there is none yet."""
    with _sentences(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect(file, "rwc")) as connection:
            if _layout(file, connection) < LAYOUT:
                _lay_out(file, connection)
            _log_ahead(connection)
            # In WAL mode NORMAL writes the log to the disk at checkpoints only: after a power cut, the last units would be
            # gone. FULL does it with every commit, so what was told to be kept is kept.
            connection.execute("PRAGMA synchronous = FULL")
            yield connection


def _reading(file: Path) -> sqlite3.Connection:
    """Open the file to be read.

    SQLite keeps a log beside it even then. Where that may not be, and none is there, nobody is writing: so SQLite is told.
    """
    connection = _connect(file, "rw")
    try:
        connection.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        connection.close()
        log = file.with_name(f"{file.name}-wal")
        if _code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or log.exists():
            raise
        return _connect(file, "ro&immutable=1")
    return connection


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(file.absolute()))}?mode={mode}"
    connection = sqlite3.connect(address, timeout=PATIENCE, isolation_level=None, uri=True)
    # A damaged text must not hide all others.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _layout(file: Path, connection: sqlite3.Connection) -> int:
    """Return the number of the file's layout, 0 where it is still empty; what is not ours or newer is refused."""
    layout, mark, tables = (
        connection.execute(query).fetchone()[0]
        for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if not (layout or mark or tables):
        return 0
    if mark != OURS:
        raise StoreError(f"{file} is a database of something else: move it away, and a new one is made")
    if layout > LAYOUT:
        raise StoreError(
            f"{file} was written by a newer graphveil (layout {layout}, this one knows {LAYOUT}): update graphveil, or name "
            "another folder with GRAPHVEIL_CACHE"
        )
    return int(layout)


def _lay_out(file: Path, connection: sqlite3.Connection) -> None:
    """Make the tables, or what they lack, unless another process has done so meanwhile; a killed process leaves nothing behind."""
    connection.execute("BEGIN IMMEDIATE")
    layout = _layout(file, connection)
    for number in range(layout + 1, LAYOUT + 1):
        for statement in LAYOUTS[number]:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {OURS}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, which lets others read while one writes; the file stays so."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself here while another process switches.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


@contextmanager
def _sentences(file: Path) -> Iterator[None]:
    """Turn what SQLite and the system complain about into what is wrong and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = _REASONS.get(_code(error), _DAMAGED)
        raise StoreError(reason.format(file=file, error=error, patience=PATIENCE)) from None
    except UnicodeDecodeError:
        # What SQLite complains about quotes the name of a damaged table.
        raise StoreError(_DAMAGED.format(file=file, error="it holds names that are not UTF-8")) from None
    except OSError as error:
        raise StoreError(_UNUSABLE.format(file=file, error=error.strerror or error)) from None


def _code(error: sqlite3.Error) -> int:
    """Return what SQLite calls the error, without its finer distinctions."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


_DAMAGED = (
    "{file} is damaged ({error}): move it away, and a new one is made in its place; nothing of it was changed"
)
_UNUSABLE = "{file} cannot be read or written ({error}): allow it, make room, or name another folder with GRAPHVEIL_CACHE"
_NO_ACCESS = ("READONLY", "CANTOPEN", "PERM", "IOERR", "AUTH")
_REASONS = {
    **{getattr(sqlite3, f"SQLITE_{name}"): _UNUSABLE for name in _NO_ACCESS},
    sqlite3.SQLITE_NOTADB: "{file} is no database: move it away, and a new one is made in its place; nothing of it was changed",
    sqlite3.SQLITE_FULL: "{file} cannot be written, the disk is full: make room, or name another folder with GRAPHVEIL_CACHE",
    sqlite3.SQLITE_BUSY: "{file} has been locked by another process for {patience:g} seconds: end that one, or try again later",
}
