"""Measured gains: veil's score less structure's, in runs on towns and real graphs."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from graphveil.methods.veil_advice import TOWN, PublicNumbers, Situation

# Written by `python -m reproduce.advice.measure`.
FILE = Path(__file__).parent / "measured_gains.csv"
NUMBERS = tuple(each.name for each in fields(PublicNumbers))
COLUMNS = (
    *("graph", "seed", "panel", "epsilon", *NUMBERS),
    *("reach", "nats", "simulated", "tested", "structure", "gain"),
)
WHOLE = {"users", "dims", "classes", "trained", "validated"}


@dataclass(frozen=True)
class MeasuredGain:
    """One run: veil's score less structure's on test users, in points. ``graph`` names graph and split, or the town."""

    graph: str
    seed: int
    situation: Situation
    tested: int
    structure: float
    gain: float

    @property
    def town(self) -> bool:
        """Whether the graph was generated."""
        return self.situation.town

    @property
    def data(self) -> str:
        """The graph without its split."""
        return self.graph.split(" ")[0]


@cache
def measured_gains() -> tuple[MeasuredGain, ...]:
    """Return all runs."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_read_gain(row) for row in csv.DictReader(lines))


def _read_gain(row: dict[str, Any]) -> MeasuredGain:
    numbers: dict[str, Any] = {name: (int if name in WHOLE else float)(row[name]) for name in NUMBERS}
    situation = Situation(
        PublicNumbers(**numbers),
        float(row["epsilon"]),
        float(row["reach"]),
        int(row["panel"]),
        float(row["nats"]),
        float(row["simulated"]),
        row["graph"].startswith(TOWN),
    )
    return MeasuredGain(
        row["graph"],
        int(row["seed"]),
        situation,
        int(row["tested"]),
        float(row["structure"]),
        float(row["gain"]),
    )
