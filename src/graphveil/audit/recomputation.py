"""The same a second time: reports and estimates in another process, and the class of a question in whole numbers of Python.

**Client and server apart.** Are reports made of rows and words alone, and estimates of reports alone? Reports are decoded from the bytes
that are sent. What is not the package's own is besides run in a process of its own, which is sent messages to decode before it sees any
row, and then rows to randomize. It must give the same as the process of the audit, which by then has made all its calls.

**Class questions.** The reported class must be the one that the plan's model predicts for the user's row. It is computed a second time
straight from the page on the wire format, and compared with what clients report from words that let every symbol through as it is. Rows
are hostile ones.
"""

from __future__ import annotations

import inspect
import math
import pickle
from dataclasses import fields, replace
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import LeakError, Rank, Step, Title, check_alike, leaks_of
from graphveil.audit.reports import CountedBits, Version, batch, checked_reports, off_grid, same_dims
from graphveil.audit.versions import sparse_paths
from graphveil.channels.sampling import RandomBits, SeededBits, WordArray
from graphveil.errors import InputError
from graphveil.mechanisms.base import Estimate, Mechanism
from graphveil.mechanisms.classes import ClassMechanism, ClassModel, Integers
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
    reports = {title: checked_reports(mechanism, held, SeededBits(SEED)) for title, held in rows.items()}
    try:
        blind = mechanism.blind()
        control = {
            f"the control of {title}": checked_reports(blind, held, SeededBits(SEED))
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
            detail = f"an estimate carries more than its values: it is of {type(estimate).__name__}"
            raise LeakError(detail, Rank.STATE)
        read = Reports.from_bytes(Reports.to_bytes(made), mechanism)
        if not _same(Decoded.of(estimate), Decoded.of(mechanism.estimate(read))):
            detail = f"those of {title} are decoded otherwise once they have been bytes"
            raise LeakError(f"{UNSENT}: {detail}", Rank.STATE)


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
            detail = f"a process that has seen no row decodes those of {title} otherwise"
            raise LeakError(f"{UNSENT}: {detail}", Rank.STATE)


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
            detail = f"while it answers, it {' and '.join(sent.left)}: what leaves a device beside its report is not covered by any epsilon"
            raise LeakError(detail, Rank.CLEAR)
        said[title] = sent.said
        check_alike(said, "what it prints or logs depends on the values", Rank.CLEAR)
        if sent.message != Reports.to_bytes(checked_reports(mechanism, held, SeededBits(SEED))):
            why = f" ({sent.error})" if sent.error else ""
            detail = f"with the same random words it answers {title} otherwise in a process of its own{why}"
            raise LeakError(f"reports depend on what was called or loaded before: {detail}", Rank.STATE)


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
            detail = f"it remembers rows: after a call with {title}, {changed[0]} is not what it is after one with {first}"
            raise LeakError(detail, Rank.STATE)


def _same(one: Decoded, other: Decoded) -> bool:
    shapes = (one.shape, one.values.shape) == (other.shape, other.values.shape)
    if not shapes or not same_dims(one.indices, other.indices):
        return False
    values = np.append(one.values, one.offset), np.append(other.values, other.offset)
    scale = float(np.abs(values[0]).max())
    return bool(np.allclose(*values, rtol=ROUNDING, atol=ROUNDING * scale, equal_nan=True))


# Users whose class is computed again, fewer where models are large, and how many products that may take.
CLASS_USERS, MIN_USERS, MAX_PRODUCTS = 96, 24, 1 << 22
# How far from half-way between two points a value is tried, in steps; half-way itself is tried too.
NEAR = 1e-9
# Words that are tried to find one that lets every symbol through.
TRIED = 4096


def classes_step(mechanism: ClassMechanism) -> Step:
    """Compare the places of some users of a plan with those that follow from its model and their lists."""
    some = _some(mechanism)
    rows = hostile_rows(some)
    leaks = leaks_of(check_form, some, rows)
    word = _truthful_word(some)
    if word is not None and not leaks:
        leaks = leaks_of(check_places, some, rows, word) or leaks_of(check_places, *graded(some), word)
    seen = (
        f"{len(rows)} rows, hostile ones among them, dense, sparse and of single precision: the same class as in whole numbers of "
        "Python, from as many words; so next to where a value reaches a point of the grid"
    )
    if word is None:
        seen = f"{len(rows)} rows take as many words; no word lets every symbol through, so classes were not compared"
    return Step(Title.CLASSES, seen, tuple(leaks))


def _some(mechanism: ClassMechanism) -> ClassMechanism:
    """Some of the users, from all over the plan."""
    most = max(MIN_USERS, min(CLASS_USERS, MAX_PRODUCTS // mechanism.model.weights.array.size))
    if mechanism.model.first is not None:
        most = max(MIN_USERS, min(most, MAX_PRODUCTS // mechanism.model.first.array.size))
    users = mechanism.lists.shape[0]
    return mechanism.of_users(np.linspace(0, users - 1, most).astype(np.int64))


def hostile_rows(mechanism: ClassMechanism) -> NDArray[np.float64]:
    """A row for each user of a mechanism: zeros, ends, NaN and infinity, between the points of the grid and half-way."""
    public, size, users = mechanism.public, mechanism.shape.row_length, mechanism.lists.shape[0]
    version = Version(mechanism, public)
    kinds = [*version.valid.values(), *version.invalid.values(), np.zeros(size)]
    halves = (np.arange(size) % mechanism.model.levels + 0.5) / (mechanism.model.levels - 1)
    kinds.append(public.low + (public.high - public.low) * np.minimum(halves, 1.0))
    kinds += mechanism.extremes()
    while len(kinds) < users:
        kinds.append(public.low + (public.high - public.low) * off_grid(size, len(kinds)))
    return np.array(kinds[:users])


def graded(mechanism: ClassMechanism) -> tuple[ClassMechanism, NDArray[np.float64]]:
    """The same client with a model that tells whether a value reaches a point of the grid, and values next to where it does."""
    public, model, places = mechanism.public, mechanism.model, mechanism.places_open
    points = np.repeat(np.linspace(1, model.levels - 1, CLASS_USERS // 3).astype(np.int64), 3)
    beside = NEAR * (np.arange(len(points)) % 3 - 1)
    rows = np.full((len(points), mechanism.shape.row_length), public.centre)
    rows[:, 0] = public.low + (points - 0.5 + beside) / (model.levels - 1) * (public.high - public.low)
    weights = np.zeros((places, mechanism.shape.row_length), dtype=np.int64)
    weights[0, 0] = 2
    bias = np.full(places, -4 * model.levels)
    bias[:2] = 0
    offsets = np.zeros((len(points), places), dtype=np.int64)
    offsets[:, 1] = 2 * (points - model.zero) - 1
    detail = {"kind": "linear", "weights": weights, "bias": bias, "levels": model.levels, "zero": model.zero}
    lists = np.tile(np.arange(places), (len(points), 1))
    asked = replace(
        mechanism,
        model=ClassModel.of(detail),
        lists=Integers.of(lists, "lists", 2),
        offsets=Integers.of(offsets, "offsets", 2),
    )
    return asked, rows


def check_form(mechanism: ClassMechanism, rows: NDArray[np.float64]) -> None:
    """Check that every row takes the same number of random words and gives a report of the same form."""
    taken, forms = {}, {}
    for user, row in enumerate(rows):
        random_bits = CountedBits(SEED)
        reports = checked_reports(mechanism.of_users([user]), row[None], random_bits)
        forms[f"row {user}"] = len(reports.to_bytes()), reports.codes.dtype
        taken[f"row {user}"] = random_bits.taken
    check_alike(taken, "the number of random words depends on the row", Rank.CHOICE)
    check_alike(forms, "the size of a report depends on the row", Rank.CHOICE)


def _truthful_word(mechanism: ClassMechanism) -> int | None:
    """A word with which the channel answers every symbol by itself."""
    channel = mechanism.label.channel
    symbols = np.arange(channel.input_count)
    for word in (0, *SeededBits(SEED).take(TRIED).tolist()):
        if np.array_equal(channel.respond(symbols, _ConstantBits(word)), symbols):
            return int(word)
    return None


class _ConstantBits(RandomBits):
    """One word, again and again."""

    def __init__(self, word: int) -> None:
        self.word = word

    def take(self, count: int) -> WordArray:
        return np.full(count, self.word, dtype=np.uint64)


def check_places(mechanism: ClassMechanism, rows: NDArray[np.float64], word: int) -> None:
    """Check that every user answers by the place that follows from the plan, in every representation of rows.

    Parameters
    ----------
    mechanism
        The mechanism of a plan that asks for a class.
    rows
        One row for each of its users, (users, dims) float64.
    word
        A random word with which the channel answers every symbol truthfully.
    """
    # Only what single precision holds is the same row there.
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    ways: dict[str, Any] = {"rows": rows, "users one by one": None, "rows of single precision": single}
    ways |= {title: make(rows) for title, make in sparse_paths().items() if "single" not in title}
    random_bits = _ConstantBits(word)

    def places_of(values: NDArray[np.float64]) -> list[int]:
        return [place_of(mechanism, row.tolist(), user) for user, row in enumerate(values)]

    expected = places_of(rows)
    for title, held in ways.items():
        if held is None:
            each = [
                checked_reports(mechanism.of_users([user]), row[None], random_bits)
                for user, row in enumerate(rows)
            ]
            codes = [int(reports.codes[0]) for reports in each]
        else:
            codes = checked_reports(mechanism, held, random_bits, len(rows)).codes.tolist()
        said = places_of(single.astype(np.float64)) if held is single else expected
        wrong = [user for user, (one, other) in enumerate(zip(codes, said, strict=True)) if one != other]
        if wrong:
            user = wrong[0]
            detail = f"with {title}, user {user} answers by place {codes[user]} of the list, and not by {said[user]}"
            raise LeakError(
                f"what is answered is not the class that the plan's model gives to the own row: {detail}",
                Rank.CHOICE,
            )


def place_of(mechanism: ClassMechanism, row: list[float], user: int) -> int:
    """Return the place that a user answers by, in integers, step by step as in docs/wire-format.md.

    Parameters
    ----------
    mechanism
        The mechanism, with its model and the users' lists.
    row
        The user's values.
    user
        The user's place in the plan.
    """
    model, low, high = mechanism.model, mechanism.public.low, mechanism.public.high
    values = []
    for value in row:
        if math.isnan(value):
            point = model.levels // 2
        else:
            clipped = min(max(value, low), high)
            point = math.floor((clipped - low) / (high - low) * (model.levels - 1) + 0.5)
        values.append(point - model.zero)
    length = max(1, math.isqrt(sum(value * value for value in values))) if model.unit else 1
    if model.first is not None and model.first_bias is not None:
        values = [
            max(0, sum(map(mul, weights, values)) + bias * length) >> model.shift
            for weights, bias in zip(model.first.tolist(), model.first_bias.tolist(), strict=True)
        ]
    weights, biases = model.weights.tolist(), model.bias.tolist()
    listed = mechanism.lists.array[user].tolist()
    offsets = [0] * len(listed) if mechanism.offsets is None else mechanism.offsets.array[user].tolist()
    scores = [
        sum(map(mul, weights[each], values)) + (biases[each] + offset) * length
        for each, offset in zip(listed, offsets, strict=True)
    ]
    return scores.index(max(scores))
