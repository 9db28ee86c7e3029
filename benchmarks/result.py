"""What a benchmark finds: our cost, the reference's, their ratio, and the ratio that is demanded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

HEADER = ("benchmark", "case", "reference", "ours", "reference's", "ratio", "median", "target", "met")


@dataclass(frozen=True)
class Sizes:
    """How much is measured. The targets are set for the sizes that stand here."""

    draws: int = 10**7
    users: int = 22_470
    dimensions: int = 4_714
    repetitions: int = 7
    epochs: int = 500


# Runs in seconds and shows that everything works; its ratios mean little.
QUICK = Sizes(draws=10**5, users=500, dimensions=300, repetitions=2, epochs=3)


@dataclass(frozen=True)
class Result:
    """One measurement. ``ratio`` is ours over the reference's, so less is better and a target is an upper bound."""

    benchmark: str
    case: str
    reference: str
    unit: str
    ours: float
    theirs: float
    target: float | None = None
    median: float | None = None

    @property
    def ratio(self) -> float:
        """Ours over the reference's."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        return None if self.target is None else self.ratio <= self.target

    def fields(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "benchmark": self.benchmark,
            "case": self.case,
            "reference": self.reference,
            "unit": self.unit,
            "ours": self.ours,
            "theirs": self.theirs,
            "ratio": self.ratio,
            "median": self.median,
            "target": self.target,
            "met": self.met,
        }

    def cells(self) -> tuple[str, ...]:
        """Everything, for a line of the table."""
        return (
            self.benchmark,
            self.case,
            self.reference,
            amount(self.ours, self.unit),
            amount(self.theirs, self.unit),
            proportion(self.ratio),
            "" if self.median is None else proportion(self.median),
            "" if self.target is None else f"≤ {proportion(self.target)}",
            {None: "", True: "yes", False: "NO"}[self.met],
        )


def amount(value: float, unit: str) -> str:
    """A cost with its unit, to three digits.

    >>> amount(0.0123, "s"), amount(1483.2, "MB")
    ('12.3 ms', '1480 MB')
    """
    if unit == "s" and value < 1:
        value, unit = 1000 * value, "ms"
    digits = f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")
    return f"{digits} {unit}"


def proportion(ratio: float) -> str:
    """A ratio as one reads it: below 1/2 as a fraction of 1.

    >>> proportion(4.2), proportion(0.004)
    ('4.20', '1/250')
    """
    return f"1/{1 / ratio:.3g}" if 0 < ratio <= 0.5 else f"{ratio:.2f}"


def table(results: Sequence[Result]) -> str:
    """All results, in aligned columns."""
    return aligned([HEADER, *(result.cells() for result in results)])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in aligned columns, the first above the others."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([rows[0], "-" * max(map(len, rows)), *rows[1:]])


class Line(Protocol):
    """A line of a benchmark that has a table of its own."""

    @property
    def met(self) -> bool:
        """Whether it is as it has to be."""

    def cells(self) -> tuple[str, ...]:
        """What is printed of it."""


def print_lines(header: Sequence[str], lines: Iterable[Line]) -> int:
    """Print each line when it is there, and all as a table at the end; the exit status is 1 if any is not as it has to be."""
    found = []
    for line in lines:
        print("  ".join(line.cells()), file=sys.stderr, flush=True)
        found.append(line)
    print(aligned([header, *(line.cells() for line in found)]))
    return 0 if all(line.met for line in found) else 1
