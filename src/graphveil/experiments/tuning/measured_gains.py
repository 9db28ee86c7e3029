"""What veil gained over structure on towns and real graphs, beside their public numbers: what advice on a budget learns from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from graphveil.experiments.tuning.public_numbers import PublicNumbers

# Written by `python -m docs.advice`.
FILE = "measured_gains.csv"
COLUMNS = (
    *("graph", "seed", "panel", "epsilon", *PublicNumbers.names()),
    *("reach", "nats", "simulated", "tested", "structure", "gain"),
)
# What names of generated graphs begin with.
TOWN = "town"


@dataclass(frozen=True)
class Situation:
    """A graph and a budget: its public numbers, how many volunteers there are (0: none), and what is within reach at that ε.

    ``nats`` is what a volunteer's row tells of the class, and ``simulated`` what answers add to the accuracy in worlds drawn with such
    rows; both are 0 where they are not known. ``town`` says that the graph is generated: features tell more there than in real graphs.
    """

    numbers: PublicNumbers
    epsilon: float
    reach: float
    panel: int = 0
    nats: float = 0.0
    simulated: float = 0.0
    town: bool = False


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
    """All runs that come with the package."""
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return tuple(_line(row) for row in csv.DictReader(text.splitlines()))


def _line(row: dict[str, Any]) -> MeasuredGain:
    whole = {"users", "dims", "classes", "trained", "validated"}
    numbers: dict[str, Any] = {
        name: (int if name in whole else float)(row[name]) for name in PublicNumbers.names()
    }
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
