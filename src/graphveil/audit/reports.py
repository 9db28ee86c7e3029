"""Private inputs that an audit chooses by itself, and reports of them: drawn by the client's own path, checked as a server would.

An audit does not believe that a mechanism's own extremes are the worst. It tries rows at the ends of the range, between the points of any
grid, at values that programs like to treat apart (0, the middle, next to an end), and what does not fit: NaN, infinities, labels that no
class has. An input is what one user holds; a `Probe` has batches of rows that reports must treat alike in everything but their random answers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import RANGE, Candidate, has_levels, values_of, with_values
from graphveil.audit.findings import BrokenError, check_time, show
from graphveil.channels.sampling import RandomBits, SeededBits, SystemBits, WordArray
from graphveil.errors import GraphveilError, InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# What reports are made of.
FIELDS = {field.name for field in fields(Reports)}
# Fractions of a range that lie on no grid, all different: multiples of the golden ratio.
GOLDEN = (math.sqrt(5) - 1) / 2
# Rows of such fractions, and how many symbols are tried one by one.
ROWS, MAX_SYMBOLS = 3, 32


@dataclass(frozen=True, eq=False)
class Version:
    """A mechanism in one size, the public range of its values (None: it has none), and where random words come from (None: a client's)."""

    mechanism: Mechanism
    public: PublicRange | None = None
    random_bits: RandomBits | None = None

    @cached_property
    def valid(self) -> dict[str, Any]:
        """Inputs that everybody may hold, by what they are called in a sentence."""
        mechanism = self.mechanism
        if mechanism.subject == "features":
            rows = _feature_rows(mechanism.shape.row_length, self.public or PublicRange(0.0, 1.0))
            return rows if not has_levels(mechanism) else _with_levels(mechanism, rows)
        if mechanism.subject == "links":
            return _lists(mechanism.shape.dimensions)
        return {f"{mechanism.subject} {symbol}": symbol for symbol in symbols_of(mechanism)}

    @cached_property
    def invalid(self) -> dict[str, Any]:
        """Inputs that nobody should hold, and that must be answered all the same."""
        mechanism = self.mechanism
        if mechanism.subject in ("label", "level"):
            values = (-1, symbols_of(mechanism)[-1] + 1, 10**6, 0.5, math.nan, math.inf)
            return {f"the {mechanism.subject} {value:g}": value for value in values}
        inside = np.full(mechanism.shape.row_length, 0.0 if self.public is None else self.public.centre)
        rows = {
            f"rows of {value:g}": np.full(len(inside), value)
            for value in (math.nan, math.inf, -math.inf, 1e300)
        }
        rows["rows with some NaN"] = np.where(np.arange(len(inside)) % 2 == 0, math.nan, inside)
        if not has_levels(mechanism):
            return rows
        inputs = {f"level 1 and {title}": np.append(row, 1.0) for title, row in rows.items()}
        levels = (-1.0, 0.0, 1e6, 1.5, math.nan, math.inf)
        return inputs | {f"the level {level:g}": np.append(inside, level) for level in levels}

    def draw(self, private: Any, users: int) -> Reports:
        """Draw the reports of many users who all hold the same (and share it in memory), and check them."""
        return checked_reports(self.mechanism, wide_batch(private, users), self.random_bits)

    def draw_counted(self, private: Any, users: int) -> tuple[Reports, int]:
        """The same, and how many random words were taken."""
        random_bits = CountedBits(self.random_bits or SystemBits())
        return checked_reports(self.mechanism, wide_batch(private, users), random_bits), random_bits.taken


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
    low, high, width = public.low, public.high, public.high - public.low
    rows = {
        f"rows at {low:g}": np.full(size, low),
        f"rows at {high:g}": np.full(size, high),
        "rows in the middle": np.full(size, public.centre),
    }
    for row in range(ROWS):
        rows[f"rows between grid points ({row + 1})"] = low + width * off_grid(size, row)
    rows["rows next to the ends"] = np.resize(np.array([high - 1e-3 * width, low + 1e-3 * width]), size)
    special = np.clip([0.0, -0.0, 1.0, low + width / 4, low + width / 8, 5e-324], low, high)
    rows["rows of round values"] = np.resize(special, size)
    rows["rows with one high value"] = np.append(np.full(size - 1, low), high)
    rows["rows in the middle with one high value"] = np.append(high, np.full(size - 1, public.centre))
    return rows


def _with_levels(mechanism: Mechanism, rows: dict[str, Any]) -> dict[str, Any]:
    """Each row with the lowest level, and the first two with every one."""
    inputs = {title: np.append(row, 1.0) for title, row in rows.items()}
    levels = range(2, len(mechanism.budgets) + 1)
    for title, row in list(rows.items())[:2]:
        inputs |= {f"level {level}, {title}": np.append(row, level) for level in levels}
    return inputs


def _lists(size: int) -> dict[str, Any]:
    some = (off_grid(size, 0) < 0.5).astype(np.int64)
    other = some.copy()
    other[size // 2] ^= 1
    return {
        "lists without a link": np.zeros(size, dtype=np.int64),
        "lists of everybody": np.ones(size, dtype=np.int64),
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
        longest = max(mechanism.shape.row_length, mechanism.shape.length)
        users = max(MIN_USERS, min(USERS, MAX_VALUES // longest))
        found = cls.around(Version(mechanism, public_range(candidate, mechanism)), users)
        return replace(found, build=candidate.build)

    @classmethod
    def around(cls, version: Version, users: int) -> Probe:
        """Make so many rows at the extremes, mixed from them, and anywhere in the public range."""
        mechanism, public = version.mechanism, version.public
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
                inner = np.full(values.shape, public.low + 0.3819 * (public.high - public.low))
                batches["rows between grid points"] = with_values(mechanism, first, inner)
        return cls(lambda: mechanism, public, batches)

    @property
    def first(self) -> NDArray[Any]:
        """The first batch."""
        return next(iter(self.batches.values()))


def public_range(candidate: Candidate, mechanism: Mechanism) -> PublicRange | None:
    """The range that values lie in, where there is one."""
    public = getattr(mechanism, "public", None)
    if isinstance(public, PublicRange):
        return public
    return PublicRange(*RANGE) if candidate.takes("range") else None


def accepts(mechanism: Mechanism, rows: NDArray[Any]) -> bool:
    """Return whether rows like these are valid for the mechanism."""
    try:
        reports_of(mechanism, rows[:1], SeededBits(SEED))
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


def batch(private: Any, users: int) -> NDArray[Any]:
    """Return the same private input for many users, copied for each."""
    return np.repeat(np.asarray(private)[None], users, axis=0)


def wide_batch(private: Any, users: int) -> NDArray[Any]:
    """Return the same private input for many users, who share one row in memory."""
    row = np.asarray(private)
    return np.broadcast_to(row, (users, *row.shape))


def reports_of(
    mechanism: Mechanism, private: Any, random_bits: RandomBits | None = None, users: int | None = None
) -> Reports:
    """Return reports by the client's own path; whatever goes wrong on valid rows is a finding (`BrokenError`).

    Parameters
    ----------
    mechanism
        What randomizes.
    private
        What users hold, one row each.
    random_bits
        Where random words come from; None is a client's default.
    users
        How many reports there must be; None: as many as rows.
    """
    check_time()
    expected = len(private) if users is None else users
    with warnings.catch_warnings():
        # A warning on some values tells as much as a refusal.
        warnings.simplefilter("error")
        try:
            reports = mechanism.randomize(private, random_bits)
        except Exception as error:
            detail = f"randomize fails on rows that it must accept: {type(error).__name__}: {error}"
            raise BrokenError(detail) from error
    if more := _carried(reports, mechanism):
        raise BrokenError(f"a report carries more than its codes: {more}")
    if reports.users != expected:
        raise BrokenError(f"randomize answers for {reports.users} users where {expected} were asked")
    return reports


def _carried(reports: Any, mechanism: Mechanism) -> str | None:
    """Describe what an object of reports has besides the arrays that are sent; None if nothing."""
    if type(reports) is not Reports:
        return f"randomize must return Reports, it returns {type(reports).__name__}"
    if set(vars(reports)) - FIELDS:
        return "it has attributes that no message holds"
    if reports.answered is not None:
        return "it says who has answered, which is the collector's to say"
    arrays = (reports.indptr, reports.codes, *([] if reports.dims is None else [reports.dims]))
    if any(type(array) is not np.ndarray or array.dtype.kind not in "iu" for array in arrays):
        return "its arrays must be numpy's own, of whole numbers"
    if any(base.dtype.kind not in "biu" for array in arrays for base in _bases(array)):
        return "its arrays are views of something else than whole numbers"
    if _attached(reports.mechanism, mechanism):
        return "its mechanism has attributes that the one which was asked has not"
    return None


def _attached(detail: Any, mechanism: Mechanism) -> set[str]:
    """The attributes that somebody has put on the mechanism of a report: neither its fields nor what its class computes."""
    if detail is mechanism or (type(detail) is not type(mechanism) and not is_dataclass(detail)):
        return set()
    known = {field.name for field in fields(detail)} if is_dataclass(detail) else set(vars(mechanism))
    return {name for name in vars(detail).keys() - known if getattr_static(type(detail), name, None) is None}


def _bases(array: Any) -> Iterator[Any]:
    """The arrays that an array is a view of."""
    while isinstance(array := array.base, np.ndarray):
        yield array


def checked_reports(
    mechanism: Mechanism, private: Any, random_bits: RandomBits | None = None, users: int | None = None
) -> Reports:
    """Return reports as `reports_of` does, and check that a server would accept them.

    Parameters
    ----------
    mechanism
        The mechanism that randomizes.
    private
        What users hold, one row each.
    random_bits
        The source of random words; None is a client's default.
    users
        The number of reports that there must be; None: as many as rows.
    """
    reports = reports_of(mechanism, private, random_bits, users)
    try:
        reports.check()
    except GraphveilError as error:
        raise BrokenError(f"a report breaks the mechanism's own format: {error}") from error
    return reports


def report_matrix(reports: Reports, length: int) -> Numbers:
    """Return one row of numbers for each user's report: codes, and the dimensions where they are named.

    Of reports of different lengths it says for each code of the alphabet whether it is there.
    """
    if reports.mechanism.shape.uneven:
        return code_presence(reports, reports.mechanism.shape.alphabet)
    codes = reports.codes.astype(np.int64).reshape(-1, length)
    if reports.dims is None:
        return codes
    return np.concatenate([codes, reports.dims.astype(np.int64).reshape(-1, length)], axis=1)


def code_presence(reports: Reports, kept: int) -> Numbers:
    """Return which of the first ``kept`` codes are in each report (users x kept), as 0 and 1."""
    there = np.zeros((reports.users, kept), dtype=np.int64)
    owners, near = code_owners(reports), reports.codes < kept
    there[owners[near], reports.codes[near]] = 1
    return there


def code_owners(reports: Reports) -> Numbers:
    """Return whose each code of some reports is."""
    return np.repeat(np.arange(reports.users), reports.lengths)


def placed_codes(reports: Reports) -> tuple[Numbers, Numbers, Numbers]:
    """Return of every code in some reports the user, the place that it is about, and the code.

    A place is the dimension where dimensions are named, else the place in the report. Where reports are uneven a code is itself a place,
    and stands there as 1.
    """
    owners, codes = code_owners(reports), reports.codes.astype(np.int64)
    if reports.mechanism.shape.uneven:
        return owners, codes, np.ones_like(codes)
    if reports.dims is not None:
        return owners, reports.dims.astype(np.int64), codes
    return owners, np.tile(np.arange(reports.mechanism.shape.length), reports.users), codes


def place_count(mechanism: Mechanism) -> int:
    """Return how many places `placed_codes` knows."""
    shape = mechanism.shape
    if shape.uneven:
        return shape.alphabet
    return shape.places if shape.names_dimensions else shape.length


def code_count(mechanism: Mechanism) -> int:
    """Return how many codes `placed_codes` knows."""
    return 2 if mechanism.shape.uneven else mechanism.shape.alphabet


def placed_answers(reports: Reports) -> tuple[Numbers, Numbers, Numbers]:
    """Return the same of every answer: of links a place for each other user, which stands as 1 where a link is named, and one for a degree."""
    mechanism = reports.mechanism
    if not isinstance(mechanism, LinkMechanism):
        return placed_codes(reports)
    pointers, named = mechanism.neighbours(reports)
    owners, places = np.repeat(np.arange(reports.users), np.diff(pointers)), named.astype(np.int64)
    codes, degrees = np.ones_like(places), mechanism.degrees(reports)
    if degrees is None:
        return owners, places, codes
    everybody = np.arange(reports.users)
    ends = np.full(reports.users, mechanism.size)
    return np.append(owners, everybody), np.append(places, ends), np.append(codes, degrees)


def middle_code(codes: NDArray[Any], alphabet: int = 0) -> int:
    """Return the code above which at most half of all codes lie, and never the last of the alphabet."""
    shares = np.cumsum(np.bincount(codes, minlength=alphabet)) / max(codes.size, 1)
    return min(int((shares < 0.5).sum()), len(shares) - 2)


def same_reports(one: Reports, other: Reports) -> bool:
    """Return whether two sets of reports are equal, whatever mechanism they name."""
    same = np.array_equal(one.indptr, other.indptr) and np.array_equal(one.codes, other.codes)
    return same and same_dims(one.dims, other.dims)


def same_dims(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    """Return whether two sets of reports are about the same dimensions."""
    return one is other if one is None or other is None else np.array_equal(one, other)


class CountedBits(RandomBits):
    """Words of a seed, or of another source, that remember how many were taken."""

    def __init__(self, source: int | RandomBits) -> None:
        self.source, self.taken = source if isinstance(source, RandomBits) else SeededBits(source), 0

    def take(self, count: int) -> WordArray:
        self.taken += count
        return self.source.take(count)
