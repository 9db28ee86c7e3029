"""Reuse: which kept records count, by the version that computed them, and what is said about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from graphveil.source import source_digest
from graphveil.version import __version__

# Of a digest, as many digits as tell versions apart.
SHOWN = 12


@dataclass(frozen=True)
class Origin:
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
    taken: dict[int, Origin] = field(default_factory=dict)
    left: dict[int, Origin] = field(default_factory=dict)

    def sentences(self, what: str) -> list[str]:
        """What somebody who asked for results has to know about them; ``what`` was kept."""
        said = []
        if self.broken:
            said.append(
                f"{_count(len(self.broken), 'kept record')} cannot be read and {_was(self.broken)} skipped."
            )
        if self.taken:
            said.append(f"Reused {what} of another version: {_origins(self.taken)}.")
        if self.left:
            said.append(f"Not reused, {what} of another version (--any-version does): {_origins(self.left)}.")
        return said


def this_version() -> Origin:
    """What runs here."""
    return Origin(__version__, source_digest())


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _origins(records: dict[int, Origin]) -> str:
    """How many there are of each version.

    >>> _origins({1: Origin("1.0", "ab" * 32), 2: Origin("1.0", "ab" * 32)})
    '2 (graphveil 1.0, source abababababab)'
    """
    counts = sorted(Counter(map(str, records.values())).items())
    return ", ".join(f"{count} ({origin})" for origin, count in counts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _was(records: set[int]) -> str:
    return "was" if len(records) == 1 else "were"
