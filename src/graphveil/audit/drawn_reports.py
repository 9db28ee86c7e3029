"""Reports of many users, drawn by the client's own path and checked as a server would check them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import BrokenError, check_time
from graphveil.channels.sampling import SeededWords, WordArray, Words
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.reports import Reports

Numbers = NDArray[np.int64]


# What reports are made of.
FIELDS = {field.name for field in fields(Reports)}


def draw_reports(mechanism: Mechanism, private: Any, users: int, words: Words | None) -> Reports:
    """Draw the reports of many users who all hold the same, and check them.

    Parameters
    ----------
    mechanism
        What randomizes.
    private
        What one user holds; all users share it in memory.
    users
        How many of them there are in one call.
    words
        Where random words come from; None is a client's default.
    """
    return checked_reports(mechanism, wide_batch(private, users), words)


def batch(private: Any, users: int) -> NDArray[Any]:
    """Return the same private input for many users, copied for each."""
    return np.repeat(np.asarray(private)[None], users, axis=0)


def wide_batch(private: Any, users: int) -> NDArray[Any]:
    """Return the same private input for many users, who share one row in memory."""
    row = np.asarray(private)
    return np.broadcast_to(row, (users, *row.shape))


def reports_of(
    mechanism: Mechanism, private: Any, words: Words | None = None, users: int | None = None
) -> Reports:
    """Return reports by the client's own path; whatever goes wrong on valid rows is a finding (`BrokenError`).

    Parameters
    ----------
    mechanism
        What randomizes.
    private
        What users hold, one row each.
    words
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
            reports = mechanism.randomize(private, words)
        except Exception as error:
            raise BrokenError(
                f"randomize fails on rows that it must accept: {type(error).__name__}: {error}"
            ) from error
    if more := _carried(reports, mechanism):
        raise BrokenError(f"a report carries more than its codes: {more}")
    if reports.users != expected:
        raise BrokenError(f"randomize answers for {reports.users} users where {expected} were asked")
    return reports


def _carried(reports: Any, mechanism: Mechanism) -> str | None:
    """What an object of reports has besides the arrays that are sent, in words; None if nothing."""
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


def _attached(told: Any, mechanism: Mechanism) -> set[str]:
    """The attributes that somebody has put on the mechanism of a report: neither its fields nor what its class computes."""
    if told is mechanism or (type(told) is not type(mechanism) and not is_dataclass(told)):
        return set()
    known = {field.name for field in fields(told)} if is_dataclass(told) else set(vars(mechanism))
    return {name for name in vars(told).keys() - known if getattr_static(type(told), name, None) is None}


def _bases(array: Any) -> Iterator[Any]:
    """The arrays that an array is a view of."""
    while isinstance(array := array.base, np.ndarray):
        yield array


def checked_reports(
    mechanism: Mechanism, private: Any, words: Words | None = None, users: int | None = None
) -> Reports:
    """Return reports that a server would accept.

    Parameters
    ----------
    mechanism
        What randomizes.
    private
        What users hold, one row each.
    words
        Where random words come from; None is a client's default.
    users
        How many reports there must be; None: as many as rows.
    """
    reports = reports_of(mechanism, private, words, users)
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


def code_places(reports: Reports) -> NDArray[np.int32]:
    """Return the place that each code is about: its dimension where dimensions are named, else its place in the report."""
    if reports.dims is not None:
        return reports.dims
    return np.tile(np.arange(reports.mechanism.shape.length, dtype=np.int32), reports.users)


def place_count(mechanism: Mechanism) -> int:
    """Return how many places `code_places` knows."""
    return mechanism.shape.places if mechanism.shape.names_dimensions else mechanism.shape.length


def link_answers(mechanism: LinkMechanism, reports: Reports) -> tuple[Numbers, NDArray[Any], Any]:
    """Return the owner and the neighbour of every reported link, and the reported degrees (None without)."""
    pointers, named = mechanism.neighbours(reports)
    return np.repeat(np.arange(reports.users), np.diff(pointers)), named, mechanism.degrees(reports)


def middle_code(codes: NDArray[Any], alphabet: int = 0) -> int:
    """Return the code above which at most half of all codes lie, and never the last of the alphabet."""
    shares = np.cumsum(np.bincount(codes, minlength=alphabet)) / max(codes.size, 1)
    return min(int((shares < 0.5).sum()), len(shares) - 2)


def same_reports(one: Reports, other: Reports) -> bool:
    """Whether two sets of reports say the same, whatever mechanism they name."""
    return (
        same_dims(one.dims, other.dims)
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.codes, other.codes)
    )


def same_dims(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    """Whether two sets of reports are about the same dimensions."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


class CountedWords(Words):
    """Words of a seed, or of another source, that remember how many were taken."""

    def __init__(self, source: int | Words) -> None:
        self.source, self.taken = source if isinstance(source, Words) else SeededWords(source), 0

    def take(self, count: int) -> WordArray:
        self.taken += count
        return self.source.take(count)
