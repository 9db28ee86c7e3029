"""Client and server apart: are reports made of rows and words alone, and estimates of reports alone?

Reports are decoded from the bytes that are sent. What is not the package's own is besides run in a process of its own, which is
sent messages to decode before it sees any row, and then rows to randomize. It must give the same as the process of the
audit, which by then has made all its calls.
"""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import LeakError, Rank, Step, Title, check_alike, leaks_of
from graphveil.audit.reports import Version, batch, checked_reports, same_dims
from graphveil.channels.sampling import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms.base import Estimate, Mechanism
from graphveil.mechanisms.registry import is_own_builder, origin
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.separate import Decoded, Separate, SeparateError, build_named
from graphveil.plugins import named_in

# Users of a call, and how far two estimates may be apart by rounding.
USERS, ROUNDING, SEED = 33, 1e-9, 70
# What estimates are made of.
UNSENT = "the estimate of reports depends on more than what is sent"
ESTIMATED = {field.name for field in fields(Estimate)}


def processes_step(candidate: Candidate, version: Version, foreign: bool) -> Step:
    """Check that reports and estimates depend on nothing but what is sent.

    Parameters
    ----------
    candidate
        The mechanism under audit and the way to build it.
    version
        The mechanism as it is audited.
    foreign
        Whether code from outside the package is part of it: then it is run in a second process too.
    """
    mechanism = version.mechanism
    rows = {title: batch(private, USERS) for title, private in version.valid.items()}
    reports = {title: checked_reports(mechanism, held, SeededWords(SEED)) for title, held in rows.items()}
    try:
        blind = mechanism.blind()
        control = {
            f"the control of {title}": checked_reports(blind, held, SeededWords(SEED))
            for title, held in rows.items()
        }
    except (NotImplementedError, InputError):
        control = {}
    leaks = leaks_of(check_decoded_here, mechanism, reports)
    seen = "estimates follow from the bytes of reports"
    if not foreign or leaks:
        return Step(Title.PROCESSES, seen, tuple(leaks))
    try:
        other = started(candidate)
    except Exception as error:  # noqa: BLE001 -- whatever keeps it from being loaded elsewhere
        gap = (
            f"What it remembers between calls: it could not be loaded in a process of its own ({type(error).__name__}: {error}). Name the "
            "function that builds it as FILE.py:NAME."
        )
        return Step(Title.PROCESSES, f"{type(error).__name__}: {error}", skipped=True, gaps=(gap,))
    with other:
        try:
            leaks = (
                leaks_of(check_decoded_there, other, reports, control)
                or leaks_of(check_answered_there, other, mechanism, rows)
                or leaks_of(check_memory, other, rows)
            )
        except SeparateError as error:
            leaks = [LeakError(f"in a process of its own it fails: {error}", Rank.CONTROL).leak]
    seen = f"{seen}; in a process of its own, where no audit is loaded, it decodes and answers as here, says nothing and writes nothing"
    return Step(Title.PROCESSES, seen, tuple(leaks))


def started(candidate: Candidate) -> Separate:
    """The candidate in another process; whatever exception says that it cannot be loaded there."""
    if candidate.ready or candidate.asked is not None:
        built = candidate.build()
        sent = pickle.dumps(built)
        if type(pickle.loads(sent)) is not type(built):
            raise TypeError("what its pickle gives is of another class")
        return Separate(built, None, named_in(sent))
    builder, settings = inspect.unwrap(candidate.builder), candidate.settings()
    try:
        return Separate(builder, settings, named_in(pickle.dumps(builder)))
    except (pickle.PicklingError, AttributeError, TypeError):
        source = None if candidate.name is None else origin(candidate.name)
        if candidate.name is None or (source is None and not is_own_builder(candidate.builder)):
            raise
        files = [Path(source.path)] if source is not None and source.path else []
        return Separate(partial(build_named, candidate.name), settings, files)


def check_decoded_here(mechanism: Mechanism, reports: dict[str, Reports]) -> None:
    """Check that reports sent as bytes are decoded as those that were not."""
    for title, made in reports.items():
        estimate = made.estimate()
        if type(estimate) is not Estimate or set(vars(estimate)) != ESTIMATED:
            told = f"an estimate carries more than its values: it is of {type(estimate).__name__}"
            raise LeakError(told, Rank.STATE)
        read = Reports.from_bytes(Reports.to_bytes(made), mechanism)
        if not _same(Decoded.of(estimate), Decoded.of(mechanism.estimate(read))):
            told = f"those of {title} are decoded otherwise once they have been bytes"
            raise LeakError(f"{UNSENT}: {told}", Rank.STATE)


def check_decoded_there(other: Separate, reports: dict[str, Reports], control: dict[str, Reports]) -> None:
    """Check that a process that has seen no row decodes reports as this one does.

    Parameters
    ----------
    other
        The other process.
    reports, control
        Reports of the mechanism and of its control, by title.
    """
    for title, made in {**reports, **control}.items():
        there = other.decode(Reports.to_bytes(made), blind=title in control)
        if not _same(Decoded.of(made.estimate()), there):
            told = f"a process that has seen no row decodes those of {title} otherwise"
            raise LeakError(f"{UNSENT}: {told}", Rank.STATE)


def check_answered_there(other: Separate, mechanism: Mechanism, rows: dict[str, Any]) -> None:
    """Check that another process answers rows as this one does, silently, and that nothing else leaves it.

    Parameters
    ----------
    other
        The other process.
    mechanism
        The mechanism in this process.
    rows
        Rows of some users, by title.
    """
    said: dict[str, bytes] = {}
    for title, held in rows.items():
        sent = other.randomize(held, SEED)
        if sent.left:
            told = f"while it answers, it {' and '.join(sent.left)}: what leaves a device beside its report is not covered by any epsilon"
            raise LeakError(told, Rank.CLEAR)
        said[title] = sent.said
        check_alike(said, "what it prints or logs depends on the values", Rank.CLEAR)
        if sent.message != Reports.to_bytes(checked_reports(mechanism, held, SeededWords(SEED))):
            why = f" ({sent.error})" if sent.error else ""
            told = f"with the same random words it answers {title} otherwise in a process of its own{why}"
            raise LeakError(f"reports depend on what was called or loaded before: {told}", Rank.STATE)


def check_memory(other: Separate, rows: dict[str, Any]) -> None:
    """Check that a call leaves nothing behind in the process that depends on the rows."""
    first, *others = rows
    before = other.left_behind(rows[first], SEED)
    for title in others:
        after = other.left_behind(rows[title], SEED)
        if before is None or after is None:
            return
        changed = [name for name in before if after.get(name) != before[name]]
        if changed:
            told = f"it remembers rows: after a call with {title}, {changed[0]} is not what it is after one with {first}"
            raise LeakError(told, Rank.STATE)


def _same(one: Decoded, other: Decoded) -> bool:
    shapes = (one.shape, one.values.shape) == (other.shape, other.values.shape)
    if not shapes or not same_dims(one.indices, other.indices):
        return False
    values = np.append(one.values, one.offset), np.append(other.values, other.offset)
    scale = float(np.abs(values[0]).max())
    return bool(np.allclose(*values, rtol=ROUNDING, atol=ROUNDING * scale, equal_nan=True))
