"""Do the answers of one report depend on each other? Each may be drawn right and still tell more together.

Every answer becomes a few bits: above or below the middle of what came, and bits of a fixed random function of its code.
Two independent bits of n users, set a and b times, are both set in a hypergeometric number of cases, whose tail
Chernoff's bound covers whatever their probabilities are (`interval.log_tail`). Compared are all pairs of answers, all
triples (the first two joined by "either or"), and random halves of a report against the other halves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import FALSE_ALARM, LOOKS, Leak, Rank, checked_reports, wide_batch
from graphveil.audit.inputs import symbols_of
from graphveil.audit.interval import log_tail
from graphveil.audit.trust import claims_independence
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

Floats = NDArray[np.float32]
Bits = NDArray[np.bool_]

# Places that are compared in pairs and in triples, random halves, and users that are looked at.
MAX_PLACES, MAX_TRIPLE_PLACES, HALVES, MIN_USERS = 256, 20, 16, 2000
# Bits of each answer that come from its code by a fixed random function, besides the middle.
HASHED = 2
# Labels or levels that are tried.
SYMBOLS = 3
SEED = 50


@dataclass(frozen=True)
class Answers:
    """One kind of bit of the answers about some places (users x places), and which of them were asked; None: all."""

    bits: Floats
    asked: Floats | None
    places: NDArray[np.int64]


def dependent_answers(
    mechanism: Mechanism, public: PublicRange | None, values: int, words: Words, least: int = MIN_USERS
) -> list[str]:
    """What is wrong with the answers of reports whose answers are said to be independent; nothing for others.

    A look has so many values, and ``least`` users however long their reports are.
    """
    count = sum(answer.count for answer in mechanism.answers)
    if not mechanism.finite or mechanism.personal or not claims_independence(mechanism):
        return []
    if count != mechanism.report_length or count < 2:
        return []
    users = max(least, values // max(mechanism.report_length, 4))
    for title, row in equal_rows(mechanism, public).items():
        reports = checked_reports(mechanism, wide_batch(row, users), words)
        for answers in answers_of(reports):
            leak = _pairs(answers, title) or _triples(answers, title)
            if leak is None and not mechanism.names_dimensions:
                leak = _halves(answers, title)
            if leak is not None:
                return [leak]
    return []


def equal_rows(mechanism: Mechanism, public: PublicRange | None) -> dict[str, NDArray[np.float64]]:
    """Rows of equal values, so that answers from the same randomness are most alike; of labels and levels the first ones."""
    size = mechanism.dimensions
    if mechanism.subject in ("label", "level"):
        return {
            f"{mechanism.subject} {symbol}": np.array(symbol) for symbol in symbols_of(mechanism)[:SYMBOLS]
        }
    if mechanism.subject == "links":
        return {"lists without a link": np.zeros(size), "lists of everybody": np.ones(size)}
    span = public or PublicRange(0.0, 1.0)
    shares = {
        "rows at the low end": 0.0,
        "rows at the high end": 1.0,
        "rows of one value between grid points": 0.3819,
    }
    return {
        title: np.full(size, span.low + share * (span.high - span.low)) for title, share in shares.items()
    }


def answers_of(reports: Reports) -> list[Answers]:
    """The answers of some reports as bits, one kind after the other."""
    mechanism, users = reports.mechanism, reports.users
    if isinstance(mechanism, LinkMechanism):
        return [_links_of(mechanism, reports)]
    places = _places(mechanism.places if mechanism.names_dimensions else mechanism.report_length)
    column = np.full(max(mechanism.places, mechanism.report_length), -1)
    column[places] = np.arange(len(places))
    owners = np.repeat(np.arange(users), reports.lengths)
    codes = reports.codes.astype(np.int64)
    asked: Floats | None = None
    about = reports.dims if reports.dims is not None else np.tile(np.arange(mechanism.report_length), users)
    kept = column[about] >= 0
    owners, at, codes = owners[kept], column[about[kept]], codes[kept]
    if mechanism.names_dimensions:
        asked = np.zeros((users, len(places)), dtype=np.float32)
        asked[owners, at] = 1
    answers = []
    for kind in _kinds(codes, mechanism.alphabet):
        bits: Floats = np.zeros((users, len(places)), dtype=np.float32)
        bits[owners, at] = kind[codes]
        answers.append(Answers(bits, asked, places))
    return answers


def _links_of(mechanism: LinkMechanism, reports: Reports) -> Answers:
    """The answers about links, and after them whether the reported degree, where there is one, is a high one."""
    pointers, named = mechanism.neighbours(reports)
    degrees = mechanism.degrees(reports)
    places = _places(mechanism.size)
    column = np.full(mechanism.size, -1)
    column[places] = np.arange(len(places))
    owners, at = np.repeat(np.arange(reports.users), np.diff(pointers)), column[named]
    bits: Floats = np.zeros((reports.users, len(places)), dtype=np.float32)
    bits[owners[at >= 0], at[at >= 0]] = 1
    if degrees is not None:
        high = (degrees > np.median(degrees)).astype(np.float32)
        bits, places = np.column_stack([bits, high]), np.append(places, mechanism.size)
    return Answers(bits, None, places)


def _places(count: int) -> NDArray[np.int64]:
    """The places that are compared: all, or the first, the last and some between."""
    if count <= MAX_PLACES:
        return np.arange(count)
    quarter = MAX_PLACES // 4
    between = np.linspace(quarter, count - quarter - 1, MAX_PLACES - 2 * quarter).astype(np.int64)
    return np.unique(np.concatenate([np.arange(quarter), between, np.arange(count - quarter, count)]))


def _kinds(codes: NDArray[np.int64], alphabet: int) -> list[Bits]:
    """Which codes set a bit, for each kind of bit."""
    shares = np.cumsum(np.bincount(codes, minlength=alphabet)) / max(codes.size, 1)
    middle = np.arange(alphabet) > min(int((shares < 0.5).sum()), alphabet - 2)
    chance = np.random.default_rng(SEED)
    hashed = [chance.random(alphabet) < 0.5 for _ in range(HASHED)] if alphabet > 2 else []
    return [middle, *hashed]


def _tails(first: Answers, second: Answers) -> NDArray[np.float64]:
    """How unlikely each number of users is for whom both bits are set, as a logarithm."""
    if first.asked is None or second.asked is None:
        share = second.bits.mean(axis=0, dtype=np.float64)
        together = (first.bits.T @ second.bits).astype(np.float64)
        return np.asarray(log_tail(together, first.bits.sum(axis=0, dtype=np.float64)[:, None], share))
    both = (first.asked.T @ second.asked).astype(np.float64)
    one = (first.bits.T @ second.asked).astype(np.float64)
    other = (first.asked.T @ second.bits).astype(np.float64)
    seen = (first.bits.T @ second.bits).astype(np.float64)
    return np.asarray(log_tail(seen, one, other / np.maximum(both, 1.0)))


def _log_error(comparisons: int) -> float:
    # A few rows and kinds of bits of up to a hundred versions, each with three ways to compare.
    return math.log(FALSE_ALARM / (LOOKS * max(comparisons, 1)))


def _pairs(answers: Answers, title: str) -> Leak | None:
    tails = np.triu(_tails(answers, answers), 1)
    at = np.unravel_index(int(tails.argmin()), tails.shape)
    if tails[at] >= _log_error(tails.size):
        return None
    one, other = (int(answers.places[place]) for place in at)
    return Leak(
        f"answers of one report are not independent: under {title}, those about value {one} and value {other} come "
        f"together {_told(answers, int(at[0]), int(at[1]))} (random words used twice do this)",
        Rank.TOGETHER,
    )


def _told(answers: Answers, one: int, other: int) -> str:
    asked: NDArray[Any] = np.ones(len(answers.bits))
    if answers.asked is not None:
        asked = answers.asked[:, one] * answers.asked[:, other]
    same = float(((answers.bits[:, one] == answers.bits[:, other]) * asked).sum() / asked.sum())
    shares = [float((answers.bits[:, place] * asked).sum() / asked.sum()) for place in (one, other)]
    expected = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return f"in {same:.2%} of reports, independent ones would in {expected:.2%}"


def _triples(answers: Answers, title: str) -> Leak | None:
    size = min(answers.bits.shape[1], MAX_TRIPLE_PLACES)
    if size < 3:
        return None
    first, second = np.triu_indices(size, 1)
    bits, asked = answers.bits[:, :size], None if answers.asked is None else answers.asked[:, :size]
    either, both = np.abs(bits[:, first] - bits[:, second]), None
    if asked is not None:
        both = asked[:, first] * asked[:, second]
        either *= both
    tails = _tails(Answers(either, both, answers.places), Answers(bits, asked, answers.places))
    pairs = np.arange(len(first))
    tails[pairs, first] = tails[pairs, second] = 0.0
    pair, third = np.unravel_index(int(tails.argmin()), tails.shape)
    if tails[pair, third] >= _log_error(tails.size):
        return None
    listed = ", ".join(str(int(answers.places[place])) for place in (first[pair], second[pair], third))
    return Leak(
        f"answers of one report are not independent: under {title}, those about values {listed} depend on each other, "
        "although any two of them do not (noise that cancels, or is made from other noise, does this)",
        Rank.TOGETHER,
    )


def _halves(answers: Answers, title: str) -> Leak | None:
    """Random halves of a report against the others: many small dependences add up."""
    size = answers.bits.shape[1]
    if size < 4:
        return None
    chance = np.random.default_rng(SEED)
    sides = np.stack([chance.permutation(size) < size // 2 for _ in range(HALVES)])
    # Sums of so few bits are exact.
    sums_of = [(part.astype(np.float32) @ answers.bits.T) for part in (sides, ~sides)]
    for sums in zip(*sums_of, strict=True):
        high = [one > np.median(one) for one in sums]
        seen = log_tail((high[0] & high[1]).sum(), high[0].sum(), high[1].mean())
        if float(seen) < _log_error(HALVES):
            return Leak(
                f"answers of one report are not independent: under {title}, the answers about half of the values and "
                "those about the others vary together or against each other (noise that cancels does this)",
                Rank.TOGETHER,
            )
    return None
