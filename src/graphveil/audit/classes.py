"""Class questions: the reported class must be the one that the plan's model predicts for the user's row.

The class is computed a second time here, in whole numbers of Python and straight from the page on the wire format, and
compared with what clients report from words that let every symbol through as it is. Rows are hostile ones.
"""

from __future__ import annotations

import math
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import LeakError, Rank, Step, Title, check_alike, leaks_of
from graphveil.audit.reports import CountedWords, Version, checked_reports, off_grid
from graphveil.audit.versions import sparse_paths
from graphveil.channels.sampling import SeededWords, WordArray, Words
from graphveil.mechanisms.classes import ClassMechanism, ClassModel, Integers

# Users whose class is computed again, fewer where models are large, and how many products that may take.
USERS, MIN_USERS, MAX_PRODUCTS = 96, 24, 1 << 22
# How far from half-way between two points a value is tried, in steps; half-way itself is tried too.
NEAR = 1e-9
# Words that are tried to find one that lets every symbol through.
TRIED, SEED = 4096, 70


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
    most = max(MIN_USERS, min(USERS, MAX_PRODUCTS // mechanism.model.weights.array.size))
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
    points = np.repeat(np.linspace(1, model.levels - 1, USERS // 3).astype(np.int64), 3)
    beside = NEAR * (np.arange(len(points)) % 3 - 1)
    rows = np.full((len(points), mechanism.shape.row_length), public.centre)
    rows[:, 0] = public.low + (points - 0.5 + beside) / (model.levels - 1) * (public.high - public.low)
    weights = np.zeros((places, mechanism.shape.row_length), dtype=np.int64)
    weights[0, 0] = 2
    bias = np.full(places, -4 * model.levels)
    bias[:2] = 0
    offsets = np.zeros((len(points), places), dtype=np.int64)
    offsets[:, 1] = 2 * (points - model.zero) - 1
    told = {"kind": "linear", "weights": weights, "bias": bias, "levels": model.levels, "zero": model.zero}
    lists = np.tile(np.arange(places), (len(points), 1))
    asked = replace(
        mechanism,
        model=ClassModel.of(told),
        lists=Integers.of(lists, "lists", 2),
        offsets=Integers.of(offsets, "offsets", 2),
    )
    return asked, rows


def check_form(mechanism: ClassMechanism, rows: NDArray[np.float64]) -> None:
    """Check that every row takes the same number of random words and gives a report of the same form."""
    taken, forms = {}, {}
    for user, row in enumerate(rows):
        words = CountedWords(SEED)
        reports = checked_reports(mechanism.of_users([user]), row[None], words)
        forms[f"row {user}"] = len(reports.to_bytes()), reports.codes.dtype
        taken[f"row {user}"] = words.taken
    check_alike(taken, "the number of random words depends on the row", Rank.CHOICE)
    check_alike(forms, "the size of a report depends on the row", Rank.CHOICE)


def _truthful_word(mechanism: ClassMechanism) -> int | None:
    """A word with which the channel answers every symbol by itself."""
    channel = mechanism.label.channel
    symbols = np.arange(channel.input_count)
    for word in (0, *SeededWords(SEED).take(TRIED).tolist()):
        if np.array_equal(channel.respond(symbols, _ConstantWords(word)), symbols):
            return int(word)
    return None


class _ConstantWords(Words):
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
    words = _ConstantWords(word)

    def places_of(values: NDArray[np.float64]) -> list[int]:
        return [place_of(mechanism, row.tolist(), user) for user, row in enumerate(values)]

    expected = places_of(rows)
    for title, held in ways.items():
        if held is None:
            each = [
                checked_reports(mechanism.of_users([user]), row[None], words) for user, row in enumerate(rows)
            ]
            codes = [int(reports.codes[0]) for reports in each]
        else:
            codes = checked_reports(mechanism, held, words, len(rows)).codes.tolist()
        said = places_of(single.astype(np.float64)) if held is single else expected
        wrong = [user for user, (one, other) in enumerate(zip(codes, said, strict=True)) if one != other]
        if wrong:
            user = wrong[0]
            told = f"with {title}, user {user} answers by place {codes[user]} of the list, and not by {said[user]}"
            raise LeakError(
                f"what is answered is not the class that the plan's model gives to the own row: {told}",
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
