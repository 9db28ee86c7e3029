"""Finished units on disk, so that nothing is lost when a run is interrupted."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.specs.inputs import input_digest
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.experiments.store.database import check_writable, insert, select
from graphveil.experiments.store.reuse import Origin, Reuse, now, this_version

# One part of one run.
Unit = tuple[Part, int]
# What a result sums up over its units.
STAGES = frozenset({"report", "denoise", "train"})
ADD = """INSERT OR REPLACE INTO units (setting, seed, part, data, source, version, time, unit)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
# This version's first, then the latest.
FIND = """SELECT id, version, source, unit FROM units WHERE setting = ? AND seed = ? AND part = ? AND data = ?
    ORDER BY source = ? DESC, id DESC"""


class UnitStore:
    """Finished units in the file of results, each by its setting, seed, part, data and the source that computed it.

    Of the same unit the latest is kept. Units that another version has computed are found only with ``any_version``; what was
    found and what was not is in ``reuse``.
    """

    def __init__(self, file: Path, any_version: bool = False) -> None:
        self.file = file
        self.reuse = Reuse(any_version)

    def check(self) -> None:
        """Refuse, before anything is computed, a file that could not be written."""
        # What runs from now on is what was there now, whatever is written into the source meanwhile.
        this_version()
        check_writable(self.file)

    def add(self, spec: Spec, unit: UnitResult) -> None:
        """Keep a finished unit; it is on the disk when this returns."""
        origin = this_version()
        record = (origin.source, origin.version, now(), json.dumps(asdict(unit)))
        insert(self.file, ADD, (*_key(spec, unit.part, unit.run, unit.workers), *record))

    def find(
        self, spec: Spec, parts: list[Part], alone: bool = False, workers: int | None = None
    ) -> list[UnitResult]:
        """The units of this experiment that are there already; if they are to have run ``alone``, only those.

        What several workers have learned together differs by rounding: only as many ``workers`` find it again.
        """
        return self._find(spec, [(part, run) for part in parts for run in range(spec.runs)], alone, workers)

    def sentences(self) -> list[str]:
        """What has to be said about what was found."""
        return self.reuse.sentences("runs")

    def _find(
        self, spec: Spec, wanted: list[Unit], alone: bool, workers: int | None = None
    ) -> list[UnitResult]:
        source = this_version().source
        rows = select(self.file, FIND, *((*_key(spec, *unit, workers), source) for unit in wanted))
        chosen = [self._chosen(each, unit, alone) for each, unit in zip(rows, wanted, strict=True)]
        return [unit for unit in chosen if unit is not None]

    def _chosen(self, rows: list[tuple[Any, ...]], wanted: Unit, alone: bool) -> UnitResult | None:
        """The first that can be read and may be used."""
        other: dict[int, Origin] = {}
        for number, version, source, text in rows:
            origin = Origin(str(version), str(source))
            ours = origin.source == this_version().source
            if not ours and not self.reuse.any_version:
                other = other or {number: origin}
                continue
            unit = read_unit(text, *wanted)
            if unit is None:
                self.reuse.broken.add(number)
            elif unit.alone or not alone:
                self.reuse.taken |= {} if ours else {number: origin}
                return unit
        self.reuse.left |= other
        return None


def read_unit(text: Any, part: Part, run: int) -> UnitResult | None:
    """A unit as it was kept; None where the record is damaged. Which run it is depends on who asks."""
    try:
        unit = _UNIT.validate_json(text, strict=True)
        Privacy.model_validate(unit.privacy)
    except (ValidationError, TypeError):
        return None
    return replace(unit, part=part, run=run) if unit.seconds.keys() >= STAGES else None


_UNIT = TypeAdapter(UnitResult)


def _key(spec: Spec, part: Part, run: int, workers: int | None) -> tuple[str, str, str, str]:
    """Setting, seed, part and data of a unit, and how many workers shared it. A seed may be larger than SQLite's integers."""
    setting = spec.key(part, run)
    shared = setting if workers is None else f"{setting} by {workers} workers"
    return shared, str(spec.seed + run), part, input_digest(spec, part)
