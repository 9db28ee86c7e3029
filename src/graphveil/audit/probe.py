"""Private rows to try a mechanism with: rows that its reports must treat alike in everything but their random answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import RANGE, Candidate
from graphveil.audit.findings import BrokenError, batch, reports_of, show
from graphveil.audit.joint import distinct
from graphveil.audit.trust import values_of, with_values
from graphveil.channels.sampling import SeededWords, WordArray, Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.rows import PublicRange

# Users of a batch, fewer where rows are long, so that a batch stays within some 32 MB.
USERS, MIN_USERS, MAX_VALUES = 2048, 16, 1 << 22
# Checks compare calls with the same words, so it matters little which words.
SEED = 20


@dataclass(frozen=True)
class Probe:
    """A mechanism and batches of private rows, of equal shape, that reports must treat alike."""

    build: Callable[[], Mechanism]
    public: PublicRange | None
    batches: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, candidate: Candidate) -> Probe:
        """Rows for a mechanism that is built again as often as needed."""
        mechanism = candidate.build()
        found = cls.around(mechanism, public_range(candidate, mechanism), users_of(mechanism))
        return replace(found, build=candidate.build)

    @classmethod
    def around(cls, mechanism: Mechanism, public: PublicRange | None, users: int) -> Probe:
        """Rows of so many users at the extremes, mixed from them, and anywhere in the public range."""
        chance = np.random.default_rng(SEED)
        ends = [np.asarray(private) for private in distinct(mechanism.extremes())[:2]]
        batches = {f"rows at {show(end)}": batch(end, users) for end in ends}
        first, last = batch(ends[0], users), batch(ends[-1], users)
        batches["rows mixed from both"] = np.where(chance.random(first.shape) < 0.5, first, last)
        if public is not None:
            values = chance.uniform(public.low, public.high, values_of(mechanism, first).shape)
            anywhere = with_values(mechanism, batches["rows mixed from both"], values)
            if accepts(mechanism, anywhere):
                batches["rows anywhere in the range"] = anywhere
                inner = with_values(
                    mechanism, first, np.full(values.shape, public.low + 0.3819 * (public.high - public.low))
                )
                batches["rows between grid points"] = inner
        return cls(lambda: mechanism, public, batches)


def users_of(mechanism: Mechanism) -> int:
    """How many users a batch has."""
    longest = max(mechanism.row_length, mechanism.report_length)
    return max(MIN_USERS, min(USERS, MAX_VALUES // longest))


def public_range(candidate: Candidate, mechanism: Mechanism) -> PublicRange | None:
    """The range that values lie in, where there is one."""
    public = getattr(mechanism, "public", None)
    if isinstance(public, PublicRange):
        return public
    return PublicRange(*RANGE) if candidate.takes("range") else None


def accepts(mechanism: Mechanism, rows: NDArray[Any]) -> bool:
    """Whether rows like these are valid for the mechanism."""
    try:
        reports_of(mechanism, rows[:1], SeededWords(SEED))
    except BrokenError as error:
        if isinstance(error.__cause__, InputError):
            return False
        raise
    return True


class CountedWords(Words):
    """Words of a seed, or of another source, that remember how many were taken."""

    def __init__(self, source: int | Words) -> None:
        self.source, self.taken = source if isinstance(source, Words) else SeededWords(source), 0

    def take(self, count: int) -> WordArray:
        self.taken += count
        return self.source.take(count)
