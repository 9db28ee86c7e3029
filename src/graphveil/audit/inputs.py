"""Private inputs that an audit chooses by itself: it does not believe that a mechanism's own extremes are the worst.

Rows at the ends of the range, between the points of any grid, at values that programs like to treat apart (0, the middle,
next to an end), and what does not fit: NaN, infinities, labels that no class has. An input is what one user holds; a `Probe` has
batches of rows that reports must treat alike in everything but their random answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import (
    RANGE,
    Candidate,
    values_of,
    with_values,
)
from graphveil.audit.drawn_reports import batch, reports_of
from graphveil.audit.findings import BrokenError, show
from graphveil.channels.sampling import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.mechanisms.rows import PublicRange

Floats = NDArray[np.float64]
# Fractions of a range that lie on no grid, all different: multiples of the golden ratio.
GOLDEN = (math.sqrt(5) - 1) / 2
# Rows of such fractions, and how many symbols are tried one by one.
ROWS, MAX_SYMBOLS = 3, 32


def valid_inputs(mechanism: Mechanism, public: PublicRange | None) -> dict[str, Any]:
    """Inputs that everybody may hold, by what they are called in a sentence."""
    if mechanism.subject == "features":
        rows = _feature_rows(mechanism.shape.row_length, public or PublicRange(0.0, 1.0))
        return rows if not mechanism.personal else _with_levels(mechanism, rows)
    if mechanism.subject == "links":
        return _lists(mechanism.shape.dimensions)
    return {f"{mechanism.subject} {symbol}": symbol for symbol in symbols_of(mechanism)}


def invalid_inputs(mechanism: Mechanism, public: PublicRange | None) -> dict[str, Any]:
    """Inputs that nobody should hold, and that must be answered all the same."""
    if mechanism.subject in ("label", "level"):
        last = symbols_of(mechanism)[-1]
        return {
            f"the {mechanism.subject} {value:g}": value
            for value in (-1, last + 1, 10**6, 0.5, math.nan, math.inf)
        }
    size, middle = mechanism.shape.row_length, 0.0 if public is None else public.centre
    rows = {f"rows of {value:g}": np.full(size, value) for value in (math.nan, math.inf, -math.inf, 1e300)}
    mixed = np.full(size, middle)
    mixed[::2] = math.nan
    rows["rows with some NaN"] = mixed
    if mechanism.subject == "links":
        return rows
    if mechanism.personal:
        inputs = _with_levels(mechanism, rows, "level 1 and ")
        inside = np.full(size, middle)
        for level in (-1.0, 0.0, 1e6, 1.5, math.nan, math.inf):
            inputs[f"the level {level:g}"] = np.append(inside, level)
        return inputs
    return rows


def symbols_of(mechanism: Mechanism) -> list[int]:
    """The labels or levels that there are, some of them where they are many."""
    if not isinstance(mechanism, SymbolMechanism):
        return [int(private) for private in mechanism.extremes()]
    count = mechanism.channel.input_count
    places = np.unique(np.linspace(0, count - 1, min(count, MAX_SYMBOLS)).astype(int))
    return [mechanism.first + int(place) for place in places]


def off_grid(size: int, row: int) -> Floats:
    """Numbers of (0, 1) that lie on no grid."""
    return np.asarray((np.arange(1, size + 1) + row * size) * GOLDEN % 1.0)


def _feature_rows(size: int, public: PublicRange) -> dict[str, Any]:
    width = public.high - public.low
    rows = {
        f"rows at {public.low:g}": np.full(size, public.low),
        f"rows at {public.high:g}": np.full(size, public.high),
        "rows in the middle": np.full(size, public.centre),
    }
    for row in range(ROWS):
        rows[f"rows between grid points ({row + 1})"] = public.low + width * off_grid(size, row)
    near = 1e-3 * width
    ends = np.array([public.high - near, public.low + near])
    rows["rows next to the ends"] = np.resize(ends, size)
    special = np.clip(
        [0.0, -0.0, 1.0, public.low + width / 4, public.low + width / 8, 5e-324], public.low, public.high
    )
    rows["rows of round values"] = np.resize(special, size)
    mostly_low = np.full(size, public.low)
    mostly_low[-1] = public.high
    rows["rows with one high value"] = mostly_low
    mostly_middle = np.full(size, public.centre)
    mostly_middle[0] = public.high
    rows["rows in the middle with one high value"] = mostly_middle
    return rows


def _with_levels(mechanism: Mechanism, rows: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Each row with the lowest level, and the first two with every one."""
    levels = len(getattr(mechanism, "budgets", (1.0,)))
    inputs = {f"{prefix}{title}": np.append(row, 1.0) for title, row in rows.items()}
    for title, row in list(rows.items())[:2] if not prefix else []:
        inputs |= {f"level {level}, {title}": np.append(row, level) for level in range(2, levels + 1)}
    return inputs


def _lists(size: int) -> dict[str, Any]:
    empty, full = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64)
    some = (off_grid(size, 0) < 0.5).astype(np.int64)
    other = some.copy()
    other[size // 2] ^= 1
    return {
        "lists without a link": empty,
        "lists of everybody": full,
        "lists of some": some,
        "lists of some and one link more or less": other,
    }


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
        """Make rows at the extremes, mixed from them, and anywhere in the public range.

        Parameters
        ----------
        mechanism
            The mechanism under audit.
        public
            The range that values lie in; None where there is none.
        users
            How many rows a batch has.
        """
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
    longest = max(mechanism.shape.row_length, mechanism.shape.length)
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


def distinct(inputs: list[Any]) -> list[Any]:
    """Each input once."""
    kept: list[Any] = []
    for private in inputs:
        if not any(np.array_equal(np.asarray(private), np.asarray(other)) for other in kept):
            kept.append(private)
    return kept
