"""Finished units on disk, so that nothing is lost when a run is interrupted; and which kept records are reused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from graphveil.experiments.database import RESULTS, check_writable, insert, select
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.unit import RunUnit, UnitResult
from graphveil.number_format import counted
from graphveil.settings import settings
from graphveil.version import __version__, source_digest


def results_file() -> Path:
    """The file that all commands, and all calls from Python, keep their results in."""
    return settings().cache / RESULTS


# Of a digest, as many digits as tell versions apart.
SHOWN = 12


@dataclass(frozen=True)
class RecordOrigin:
    """Which graphveil computed something: its version, and the digest of its source."""

    version: str
    source: str

    def __str__(self) -> str:
        source = f", source {self.source[:SHOWN]}" if self.source else ""
        return f"graphveil {self.version}{source}"


@dataclass
class Reuse:
    """What was found among kept records, each counted once however often it is found.

    Records of another version count only with ``any_version``.
    """

    any_version: bool = False
    broken: set[int] = field(default_factory=set)
    taken: dict[int, RecordOrigin] = field(default_factory=dict)
    left: dict[int, RecordOrigin] = field(default_factory=dict)

    def sentences(self, what: str) -> list[str]:
        """What somebody who asked for results has to know about them; ``what`` was kept."""
        said = []
        if self.broken:
            were = "was" if len(self.broken) == 1 else "were"
            said.append(f"{counted(len(self.broken), 'kept record')} cannot be read and {were} skipped.")
        if self.taken:
            said.append(f"Reused {what} of another version: {_origins(self.taken)}.")
        if self.left:
            said.append(f"Not reused, {what} of another version (--any-version does): {_origins(self.left)}.")
        return said


def this_version() -> RecordOrigin:
    """What runs here."""
    return RecordOrigin(__version__, source_digest())


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _origins(records: dict[int, RecordOrigin]) -> str:
    """How many there are of each version.

    >>> _origins({1: RecordOrigin("1.0", "ab" * 32), 2: RecordOrigin("1.0", "ab" * 32)})
    '2 (graphveil 1.0, source abababababab)'
    """
    counts = sorted(Counter(map(str, records.values())).items())
    return ", ".join(f"{count} ({origin})" for origin, count in counts)


# What a result sums up over its units.
STAGES = ("report", "denoise", "train")
ADD = """INSERT OR REPLACE INTO units (setting, seed, part, data, source, version, time, unit)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
# This version's first, then the latest.
FIND = """SELECT id, version, source, unit FROM units WHERE setting = ? AND seed = ? AND part = ? AND data = ?
    ORDER BY source = ? DESC, id DESC"""


class RecordStore:
    """Finished work in the file of results: ``records`` is what it holds, and ``reuse`` what was found of it and what was not."""

    records: ClassVar[str]

    def __init__(self, file: Path, any_version: bool = False) -> None:
        self.file = file
        self.reuse = Reuse(any_version)

    def check(self) -> None:
        """Refuse, before anything is computed, a file that could not be written."""
        # What runs from now on is what was there now, whatever is written into the source meanwhile.
        this_version()
        check_writable(self.file)

    def sentences(self) -> list[str]:
        """Return what has to be said about what was found."""
        return self.reuse.sentences(self.records)


class UnitStore(RecordStore):
    """Finished units in the file of results, each by its setting, seed, part, data and the source that computed it.

    Of the same unit the latest is kept. Units that another version has computed are found only with ``any_version``; what was
    found and what was not is in ``reuse``.
    """

    records = "runs"

    def add(self, spec: Experiment, unit: UnitResult) -> None:
        """Keep a finished unit; it is on the disk when this returns."""
        key, origin = _key(RunUnit(spec, unit.part, unit.run), unit.workers), this_version()
        record = json.dumps({**vars(unit), "privacy": unit.privacy.to_dict()})
        insert(self.file, ADD, (*key, origin.source, origin.version, now(), record))

    def find(
        self, spec: Experiment, parts: list[Part], alone: bool = False, workers: int | None = None
    ) -> list[UnitResult]:
        """The units of this experiment that are there already; if they are to have run ``alone``, only those.

        What several workers have learned together differs by rounding: only as many ``workers`` find it again.
        """
        units = (RunUnit(spec, part, run) for part, run in product(parts, range(spec.runs)))
        wanted = [unit for unit in units if self.looks_for(unit)]
        source = this_version().source
        rows = select(self.file, FIND, *((*_key(unit, workers), source) for unit in wanted))
        chosen = [self._chosen(each, unit, alone) for each, unit in zip(rows, wanted, strict=True)]
        return [unit for unit in chosen if unit is not None]

    def looks_for(self, unit: RunUnit) -> bool:
        """Return whether a unit is looked for at all."""
        return True

    def _chosen(self, rows: list[tuple[Any, ...]], wanted: RunUnit, alone: bool) -> UnitResult | None:
        """The first that can be read and may be used."""
        other: dict[int, RecordOrigin] = {}
        for number, version, source, text in rows:
            origin = RecordOrigin(str(version), str(source))
            ours = origin.source == this_version().source
            if not ours and not self.reuse.any_version:
                other = other or {number: origin}
                continue
            unit = read_unit(text, wanted)
            if unit is None:
                self.reuse.broken.add(number)
            elif unit.alone or not alone:
                self.reuse.taken |= {} if ours else {number: origin}
                return unit
        self.reuse.left |= other
        return None


def read_unit(text: Any, wanted: RunUnit) -> UnitResult | None:
    """Return a unit as it was kept; None where the record is damaged. Which run it is depends on who asks."""
    try:
        unit = _UNIT.validate_json(text, strict=True)
    except (ValidationError, TypeError):
        return None
    return replace(unit, part=wanted.part, run=wanted.run) if unit.seconds.keys() >= {*STAGES} else None


_UNIT = TypeAdapter(UnitResult)


def _key(unit: RunUnit, workers: int | None) -> tuple[str, str, str, str | None]:
    """Setting, seed, part and data of a unit, and how many workers shared it. A seed may be larger than SQLite's integers."""
    shared = unit.key if workers is None else f"{unit.key} by {workers} workers"
    return shared, str(unit.seed), unit.part, unit.digest
