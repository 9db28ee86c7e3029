"""Results on disk: kept by every run, and read by whatever shows or compares them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.errors import InputError, StoreError
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.result import Result
from graphveil.experiments.store.database import RESULTS, change, insert, select
from graphveil.experiments.store.reuse import Origin, now, this_version
from graphveil.files import read_text
from graphveil.methods.terms import Budgets, Levels, Turnout, Volunteers

DATABASE = Path(RESULTS).suffix
SUFFIXES = (".json", ".jsonl", DATABASE)
# What differs between two computations of the same result.
MEASURED = ("seconds", "peak_mb")
# The same result again has the number and the tags that it had; it counts as the last one of its experiment.
# A clock that was set back makes no result an earlier one.
ADD = """INSERT INTO results (source, time, result, digest)
    VALUES (?, max(?, coalesce((SELECT max(time) FROM results), '')), ?, ?)
    ON CONFLICT (digest) DO UPDATE SET time = excluded.time"""
ALL = "SELECT id, source, result FROM results ORDER BY time, id"
TAGGED = "SELECT result, name FROM tags ORDER BY name"
# Told in a sentence of what was left out.
Skipped = Callable[[str], None]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Scores(_Part):
    """A mean with its interval, 0..1."""

    mean: float
    low: float | None = None
    high: float | None = None
    name: str = ""


class Setup(_Part):
    """What was run besides what the result itself says: the rest of a `Spec`. ``runs`` is how many were asked for."""

    runs: int | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    data_options: dict[str, Any] = Field(default_factory=dict)
    budgets: Budgets = Budgets()
    levels: Levels = Levels()
    turnout: Turnout = Turnout()
    volunteers: Volunteers = Volunteers()


class Record(_Part):
    """A result as `--json` prints it, and, where a run kept it itself, what was run and when.

    ``interrupted`` marks a result that has fewer runs than were asked for. ``seeds`` are those of its runs, and ``data_digest`` is
    that of the graph's content, where they are known.
    """

    method: str
    data: str
    task: str = "node"
    metric: str = "accuracy"
    epsilon: float | None = Field(None, gt=0)
    mechanism: str | None = None
    backbone: str | None = None
    seed: int = 0
    version: str = ""
    runs: tuple[float, ...] = Field(min_length=1)
    mean: float
    low: float | None = None
    high: float | None = None
    control: Scores | None = None
    structure: Scores | None = None
    gain: Scores | None = None
    gain_over_structure: Scores | None = None
    edgeless: Scores | None = None
    gain_over_edgeless: Scores | None = None
    unasked: Scores | None = None
    gain_over_unasked: Scores | None = None
    verdict: str | None = None
    privacy: Privacy | None = None
    spec: Setup | None = None
    interrupted: bool = False
    time: str | None = None
    seeds: tuple[int, ...] | None = None
    data_digest: str = ""

    @property
    def scores(self) -> Scores:
        """The method's own mean and interval."""
        return Scores(mean=self.mean, low=self.low, high=self.high)

    @property
    def setup(self) -> Setup:
        """What was run, as far as it is known."""
        return self.spec or Setup()

    @property
    def identity(self) -> str:
        """The same for two results of the same experiment; without a spec, only for two that are the same throughout."""
        whole = self.model_dump(mode="json", exclude={"time", "interrupted", "version"})
        if self.spec is not None:
            told = ("method", "data", "task", "epsilon", "mechanism", "backbone", "seed", "spec")
            whole = {key: whole[key] for key in told}
        return json.dumps(whole, sort_keys=True)


@dataclass(frozen=True)
class Kept:
    """A record in the file of results: its number there, which no other ever has, its tags, and the source that computed it."""

    number: int
    record: Record
    tags: tuple[str, ...] = ()
    source: str = ""

    @property
    def origin(self) -> Origin:
        """Which graphveil computed it."""
        return Origin(self.record.version or "of an unknown version", self.source)


class ResultStore:
    """Results in the file of results, added when a run ends."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, result: Result) -> None:
        """Keep a result, an interrupted one too; one that is there already is not kept twice."""
        time, source = now(), this_version().source
        told = {
            **result.to_dict(),
            "data": result.data_name,
            "spec": asdict(result.spec),
            "interrupted": result.interrupted,
            "seeds": [result.spec.seed + unit.run for unit in result.of("method")],
            "data_digest": result.data_digest,
        }
        same = {key: value for key, value in told.items() if key not in MEASURED}
        written = json.dumps([source, same], sort_keys=True, default=str)
        digest = hashlib.sha256(written.encode()).hexdigest()
        insert(self.file, ADD, (source, time, json.dumps({**told, "time": time}, default=str), digest))

    def records(self, skipped: Skipped = lambda _: None) -> list[Record]:
        """All results, in the order in which they were kept. Damaged ones are left out; ``skipped`` is told how many."""
        return [kept.record for kept in self.kept(skipped)]

    def kept(self, skipped: Skipped = lambda _: None) -> list[Kept]:
        """The same with their numbers and tags."""
        (rows,) = select(self.file, ALL, ())
        (tagged,) = select(self.file, TAGGED, (), since=2)
        tags: dict[int, list[str]] = {}
        for number, name in tagged:
            tags.setdefault(number, []).append(name)
        found, damaged = [], 0
        for number, source, text in rows:
            try:
                record = Record.model_validate(_parsed(text))
                found.append(Kept(number, record, tuple(tags.get(number, ())), str(source)))
            except ValidationError:
                damaged += 1
        if damaged:
            skipped(
                f"{self.file}: {damaged} of {len(rows)} records {'is' if damaged == 1 else 'are'} damaged and skipped"
            )
        return found

    def tag(self, numbers: Iterable[int], add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Give tags to results and take others from them, all at once; a result that was deleted meanwhile stays so."""
        chosen = list(numbers)
        change(
            self.file,
            (
                "INSERT OR IGNORE INTO tags (result, name) SELECT id, ? FROM results WHERE id = ?",
                [(name, number) for number in chosen for name in add],
            ),
            (
                "DELETE FROM tags WHERE name = ? AND result = ?",
                [(name, number) for number in chosen for name in remove],
            ),
        )

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete results with their tags, all at once. The units that they were made of stay."""
        chosen = [(number,) for number in numbers]
        change(
            self.file,
            ("DELETE FROM tags WHERE result = ?", chosen),
            ("DELETE FROM results WHERE id = ?", chosen),
        )


def latest(records: Sequence[Record]) -> list[Record]:
    """One result an experiment: the last one, and an interrupted one only where no other is there."""
    kept: dict[str, Record] = {}
    for record in records:
        if record.identity not in kept or not record.interrupted or kept[record.identity].interrupted:
            kept[record.identity] = record
    return list(kept.values())


def read_results(paths: Sequence[Path], skipped: Skipped = lambda _: None) -> list[Record]:
    """The results in some files, or in the .json, .jsonl and .sqlite files of some folders. Damaged ones are left out, and
    ``skipped`` is told of them.

    A file holds one object, a list of them (below "results" too), or one a line, or is a file of results as the cache has it. A file without any result is refused; in a folder it is not
    looked at further, as long as another one has results.
    """
    records = []
    for path in paths:
        if not path.exists():
            raise InputError(
                f"{path} is not there: give a file that `graphveil run … --json` has written, or a folder"
            )
        here = [record for file in _files(path) for record in _records(file, skipped, path.is_dir())]
        if not here:
            raise InputError(
                f"{path} holds no result: give what `graphveil run … --json` prints, one object a file or a line"
            )
        records += here
    return records


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())


def _records(file: Path, skipped: Skipped, among_others: bool = False) -> list[Record]:
    """The results of a file. One ``among_others`` in a folder may be about something else: nobody is told of that."""
    if file.suffix == DATABASE:
        try:
            return ResultStore(file).records(skipped)
        except StoreError:
            if not among_others:
                raise
            return []
    records, damaged = [], []
    for place, fields in _objects(read_text(file, "give a file of results", errors="replace")):
        try:
            records.append(Record.model_validate(fields))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            damaged.append(
                f"{file}, {place}: skipped, no result ({f'{field}: ' if field else ''}{first['msg']})"
            )
    for line in damaged if records or not among_others else []:
        skipped(line)
    return records


def _objects(text: str) -> Iterator[tuple[str, Any]]:
    """All JSON values of a file with their places: one in all, the members of a list, or one a line."""
    whole = _parsed(text)
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        # What `graphveil results --json` prints.
        whole = whole["results"]
    if isinstance(whole, list):
        yield from ((f"entry {number}", entry) for number, entry in enumerate(whole, 1))
    elif whole is not None:
        yield "line 1", whole
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                # What cannot be read (a line that was cut off when the process was killed) is None, and no result.
                yield f"line {number}", _parsed(line)


def _parsed(text: Any) -> Any:
    """A JSON value; None where there is none, or where it is nested too deep to be read."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
