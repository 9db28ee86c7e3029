"""Finished units on disk, so that nothing is lost when a run is interrupted."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from graphveil.experiments.spec import Part, Spec
from graphveil.experiments.unit import UnitResult


class UnitStore:
    """One line of JSON a finished unit, appended as soon as it is there; a later line of the same unit counts."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, spec: Spec, unit: UnitResult) -> None:
        """Keep a finished unit."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": spec.key(unit.part, unit.run), "unit": asdict(unit)})
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def find(self, spec: Spec, parts: list[Part]) -> list[UnitResult]:
        """The units of this experiment that are there already."""
        if not self.file.exists():
            return []
        wanted = {spec.key(part, run): (part, run) for part in parts for run in range(spec.runs)}
        found = {}
        for line in self.file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                key, fields = entry["key"], entry["unit"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # a line that was cut off when the process was killed
            if isinstance(key, str) and key in wanted:
                part, run = wanted[key]
                with suppress(TypeError):  # a line of another version, or a damaged one: that unit runs again
                    found[key] = UnitResult(**{**fields, "part": part, "run": run})
        return list(found.values())
