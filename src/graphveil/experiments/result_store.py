"""Results on disk: kept by every run, read back, selected, sorted and exported."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.errors import InputError, StoreError
from graphveil.experiments.database import RESULTS, change, insert, select
from graphveil.experiments.result import Result
from graphveil.experiments.table import Column, Kind, Table
from graphveil.experiments.unit_store import Origin, now, this_version
from graphveil.files import PARQUET, read_text, write_whole
from graphveil.methods.terms import Budgets, Levels, Turnout, Volunteers
from graphveil.plugins import unknown_name
from graphveil.privacy.record import Privacy

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
    """What was run besides what the result itself says: the rest of a `Experiment`. ``runs`` is how many were asked for."""

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


# A tag starts with a letter, so that it is never taken for a number.
TAG = re.compile(r"[^\W\d_][\w.-]{0,63}")


@dataclass(frozen=True)
class Selection:
    """Which results are meant: any of these values in each of these fields; empty ones say nothing.

    Of the same experiment the last result is meant, unless ``earlier`` ones are too, or a number or a tag names one.
    """

    numbers: tuple[int, ...] = ()
    method: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    mechanism: tuple[str, ...] = ()
    backbone: tuple[str, ...] = ()
    epsilon: tuple[float, ...] = ()
    seed: tuple[int, ...] = ()
    tag: tuple[str, ...] = ()
    earlier: bool = False

    @property
    def chooses(self) -> bool:
        """Whether anything is said, so that not everything is meant."""
        return bool(self.numbers or self.tag or any(getattr(self, field) for field in FIELDS))

    def of(self, kept: Sequence[Kept]) -> list[Kept]:
        """The results that are meant, by their numbers. A number that no result has is refused."""
        known = {each.number for each in kept}
        if missing := [number for number in self.numbers if number not in known]:
            raise InputError(f"no result has the number {missing[0]}: `graphveil results` lists them")
        chosen = list(kept)
        if self.numbers:
            chosen = [each for each in kept if each.number in self.numbers]
        elif not self.earlier and not self.tag:
            chosen = last_ones(kept)
        return sorted((each for each in chosen if self._fits(each)), key=lambda each: each.number)

    def missing(self, kept: Sequence[Kept]) -> str:
        """Why nothing fits, where a value is one that no result has; empty where each has some."""
        for field in FIELDS:
            there = {getattr(each.record, field) for each in kept} - {None}
            for value in getattr(self, field):
                if value not in there:
                    known = ", ".join(map(_told, sorted(there))) or "none"
                    return f"no result has the {field} {_told(value)}: there are {known}"
        tags = {tag for each in kept for tag in each.tags}
        for tag in self.tag:
            if tag not in tags:
                return f"no result has the tag {tag}: there are {', '.join(sorted(tags)) or 'none'}"
        return ""

    def _fits(self, kept: Kept) -> bool:
        fields = all(
            not getattr(self, field) or getattr(kept.record, field) in getattr(self, field)
            for field in FIELDS
        )
        return fields and (not self.tag or bool(set(self.tag) & set(kept.tags)))


# Fields of a record that one can select by.
FIELDS = ("method", "data", "task", "mechanism", "backbone", "epsilon", "seed")


def _told(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def last_ones(kept: Sequence[Kept]) -> list[Kept]:
    """One result an experiment, as `records.latest` chooses it."""
    chosen = {id(record) for record in latest([each.record for each in kept])}
    return [each for each in kept if id(each.record) in chosen]


@dataclass(frozen=True)
class Order:
    """What results are sorted by, and whether the largest comes first. What has no value comes last in any case."""

    key: Callable[[Kept], Any]
    largest_first: bool = False


ORDERS = {
    "number": Order(lambda kept: kept.number),
    "date": Order(lambda kept: kept.record.time, largest_first=True),
    "mean": Order(lambda kept: kept.record.mean, largest_first=True),
    "gain": Order(lambda kept: kept.record.gain and kept.record.gain.mean, largest_first=True),
    "gain-over-structure": Order(
        lambda kept: kept.record.gain_over_structure and kept.record.gain_over_structure.mean,
        largest_first=True,
    ),
    "epsilon": Order(lambda kept: kept.record.epsilon),
    "method": Order(lambda kept: kept.record.method),
    "data": Order(lambda kept: kept.record.data),
    "runs": Order(lambda kept: len(kept.record.runs), largest_first=True),
}


def ordered(kept: Sequence[Kept], by: str, backwards: bool = False) -> list[Kept]:
    """Results in an order of `ORDERS`; those that are alike stay as they were."""
    if by not in ORDERS:
        raise unknown_name("order", by, ORDERS)
    order = ORDERS[by]
    having = [each for each in kept if order.key(each) is not None]
    lacking = [each for each in kept if order.key(each) is None]
    return sorted(having, key=order.key, reverse=order.largest_first is not backwards) + lacking


def check_tag(name: str, kept: Sequence[Kept]) -> str:
    """Refuse a tag that could not be told from a number or from a method."""
    if not TAG.fullmatch(name):
        raise InputError(
            f"a tag has letters, digits, '.', '_' and '-', at most 64 and a letter first, got {name!r}: "
            "choose another name"
        )
    if name in {each.record.method for each in kept}:
        raise InputError(f"{name} is a method, so it cannot be a tag: choose another name")
    return name


def named(name: str, kept: Sequence[Kept], among: Selection) -> Kept:
    """The one result of that number, tag or method; where there are several, they must be narrowed down."""
    if name.isdecimal():
        (found,) = Selection(numbers=(int(name),)).of(kept)
        return found
    fitting = replace(among, tag=(name,)).of(kept)
    if not fitting:
        fitting = [each for each in among.of(kept) if each.record.method == name]
    if not fitting:
        known = sorted({tag for each in kept for tag in each.tags} | {each.record.method for each in kept})
        raise InputError(
            f"no result here has the number, the tag or the method {name!r}: there are {', '.join(known) or 'none'}; "
            "`graphveil results` lists them"
        )
    if len(fitting) > 1:
        numbers = ", ".join(str(each.number) for each in fitting)
        raise InputError(
            f"{name} may be any of the results {numbers}: name one by its number, or narrow them with --data, --epsilon and so on"
        )
    return fitting[0]


EXPORTS = (".csv", PARQUET, ".json")
# Parts of a record that are a mean with its interval.
SUMMARIES = (
    "control",
    "structure",
    "gain",
    "gain_over_structure",
    "edgeless",
    "gain_over_edgeless",
    "unasked",
    "gain_over_unasked",
)
KINDS: dict[Kind, tuple[str, ...]] = {
    "integer": ("number", "panel", "runs"),
    "unsigned": ("seed",),
    "number": ("epsilon", "label_epsilon", "link_epsilon", "mean", "low", "high"),
    "summary": SUMMARIES,
    "flag": ("interrupted",),
}
NAMES = (
    *("number", "time", "version", "source", "method", "data", "task", "metric"),
    *("epsilon", "label_epsilon", "link_epsilon", "panel", "mechanism", "backbone", "seed", "runs"),
    *("mean", "low", "high", *SUMMARIES, "structure_name", "verdict", "interrupted"),
    *("tags", "scores", "settings", "data_options"),
)


def write_export(file: Path, kept: Sequence[Kept]) -> None:
    """Write results to a file in one of `EXPORTS`."""
    if file.suffix != ".json":
        export_table(kept).write(file)
        return
    whole = {"results": [to_dict(each) for each in kept]}
    write_whole(file, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")


def to_dict(kept: Kept) -> dict[str, Any]:
    """A result in the form that `--json` prints: its number, its tags, what computed it, and all of its record."""
    about = {"number": kept.number, "tags": list(kept.tags), "source": kept.source}
    return {**about, **kept.record.model_dump(mode="json")}


def export_table(kept: Sequence[Kept]) -> Table:
    """Return results as rows of a table; lists and tables are JSON in one cell."""
    kinds = {name: kind for kind, names in KINDS.items() for name in names}
    rows = ([row[name] for name in NAMES] for row in map(_row, kept))
    return Table((Column(name, kinds.get(name, "text")) for name in NAMES), rows)


def _row(kept: Kept) -> dict[str, Any]:
    record, setup = kept.record, kept.record.setup
    return {name: getattr(record, name, None) for name in NAMES} | {
        "number": kept.number,
        "source": kept.source,
        "tags": " ".join(kept.tags),
        "runs": len(record.runs),
        "scores": json.dumps(record.runs),
        "label_epsilon": setup.budgets.label_epsilon,
        "link_epsilon": setup.budgets.link_epsilon,
        "panel": None if record.privacy is None else record.privacy.volunteers,
        "structure_name": record.structure.name if record.structure else None,
        "settings": json.dumps(setup.settings, sort_keys=True, default=str),
        "data_options": json.dumps(setup.data_options, sort_keys=True, default=str),
    }
