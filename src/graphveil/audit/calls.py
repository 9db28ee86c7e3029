"""Calls for any number of users: is everybody drawn alike, wherever they stand and however many others are asked with them?

All hold the same row, so that all answers of all users in all calls are draws of one kind. Of each user it is counted how many
answers lie on the side of their value, over several calls, until a user without noise stands out alone. Then single users, blocks of all
lengths from both ends, every k-th user and whole calls are compared with everybody else, by Chernoff's bound (`interval.log_tail`,
which holds for draws without replacement). No table is believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import (
    FALSE_ALARM,
    Leak,
    OutOfTimeError,
    Rank,
    checked_reports,
    reports_of,
    wide_batch,
)
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.interval import log_tail
from graphveil.audit.probe import SEED, CountedWords
from graphveil.audit.repeats import never_again
from graphveil.audit.schedule import NOISE_COMPARED, Schedule
from graphveil.audit.trust import claims_independence
from graphveil.channels.sampling import Words
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

Sums = NDArray[np.int64]

# The walk is done with so many values, all of them asked, at most at this ε each: what has no noise shows soonest there.
DIMS, EPSILON = 8, 0.125
# How unlikely a user without noise must be, as a logarithm; pilot users that tell how many calls that takes, and calls at most.
SURE, PILOT, MAX_CALLS = 48.0, 2000, 100
# Users of a call whose words are counted, and how many fewer words a user may take among many.
FEW, FEWER_WORDS = 1000, 0.9
# Standard deviations of a random number of words that are allowed besides.
DEVIATIONS = 6.0
# Codes that are drawn for one number of users at most.
QUICK_CODES, MAX_CODES = 1 << 25, 1 << 27
# Every k-th user is looked at for these k, and in one large call for all k up to the largest, or to the quick one.
MAX_STEP, QUICK_STEP = 10_000, 1000
STEPS = (2, 3, 5, 7, 8, 10, 13, 16, 32, 60, 64, 97, 100, 128, 256, 500, 512, 1000, 1024, 4096, 7919, 10_000)


@dataclass(frozen=True, eq=False)
class Walk:
    """Calls of some sizes, and of each size the sums of every user's answers."""

    sums: dict[int, Sums]
    # How many answers each user gave in all calls of one size.
    answers: int
    quick: bool
    leaks: list[str] = field(default_factory=list)
    finished: bool = True


def crowd_candidate(candidate: Candidate) -> Mechanism:
    """The mechanism as its calls are walked through: few values and little of each; a plan's with its own size."""
    whole = candidate.build()
    if candidate.ready or candidate.planned is not None:
        return whole
    changes: dict[str, Any] = {}
    if candidate.takes("epsilon"):
        changes["epsilon"] = min(candidate.epsilon, EPSILON * (DIMS if whole.subject == "features" else 1))
    if candidate.takes("dims"):
        changes["dims"] = DIMS
        if candidate.takes("sampled"):
            changes["sampled"] = DIMS
    try:
        return candidate.build(**changes)
    except GraphveilError:
        return whole


def walked_row(mechanism: Mechanism, public: PublicRange | None) -> Any:
    """What everybody holds: values at both ends of the range in turn, so that a value shows which is sent as it is."""
    inputs = list(valid_inputs(mechanism, public).values())
    if mechanism.subject != "features" or mechanism.personal:
        return inputs[0]
    low, high = (np.asarray(row) for row in inputs[:2])
    return np.where(np.arange(len(low)) % 2 == 0, low, high)


def walk_calls(mechanism: Mechanism, row: Any, schedule: Schedule, words: Words) -> Walk:
    """Call for all numbers of users of a schedule, as far as there is time and their codes are not too many."""
    pilot = checked_reports(mechanism, wide_batch(row, PILOT), words)
    bits = Bits.of(pilot, row)
    seen = bits.of_users(pilot)
    share = float(seen.mean()) / bits.answers
    rarest = -math.log(max(share, 1 - share, 1e-9))
    calls = max(2, min(MAX_CALLS, math.ceil(SURE / (bits.answers * rarest)) if rarest > 0 else MAX_CALLS))
    length = max(1, math.ceil(pilot.codes.size / PILOT), mechanism.row_length // 8)
    most = (QUICK_CODES if schedule.quick else MAX_CODES) // (calls * length)
    walk = Walk({}, calls * bits.answers, schedule.quick)
    try:
        for users in schedule.calls:
            if users > most:
                break
            total = np.zeros(users, dtype=np.int64)
            for call in range(calls):
                counted = CountedWords(words)
                reports = checked_reports(mechanism, wide_batch(row, users), counted)
                again = words_of_their_own(mechanism, row, users, counted.taken) if call == 0 else []
                if call == 0 and users in NOISE_COMPARED:
                    again = again or never_again(mechanism, row, reports, words)
                if again:
                    return replace(walk, leaks=again)
                total += bits.of_users(reports)
            walk.sums[users] = total
    except OutOfTimeError:
        return replace(walk, leaks=_odd_users(walk), finished=False)
    return replace(walk, leaks=_odd_users(walk))


def words_of_their_own(mechanism: Mechanism, private: Any, users: int, words: int) -> list[str]:
    """Whether a user of a large call, which took so many random words, takes as many as one of a small call."""
    if users < 2 * FEW:
        return []
    few = CountedWords(SEED)
    reports_of(mechanism, wide_batch(private, FEW), few)
    taken = few.taken / FEW, words / users
    # Links take a word for each change, so how many there are is random.
    slack = DEVIATIONS * math.sqrt(taken[0] / FEW) if mechanism.uneven else 0.0
    if taken[1] >= FEWER_WORDS * taken[0] - slack:
        return []
    return [
        Leak(
            f"random words are used more than once: a call for {FEW:,} users draws {taken[0]:.3g} words a user, one for "
            f"{users:,} users {taken[1]:.3g}",
            Rank.USERS,
        )
    ]


@dataclass(frozen=True, eq=False)
class Bits:
    """Which codes count: those on the side of a value, or, where answers depend on each other, one bit of a whole report."""

    # What each code counts for a low value; for places with a high one it is turned around.
    upper: NDArray[np.int64]
    high: NDArray[np.int64]
    answers: int
    together: bool

    @classmethod
    def of(cls, reports: Reports, row: Any) -> Bits:
        """Choose the sides by a first look."""
        mechanism, values = reports.mechanism, np.atleast_1d(row)
        nowhere = np.zeros(max(mechanism.places, mechanism.report_length), dtype=np.int64)
        independent = mechanism.finite and claims_independence(mechanism) and not mechanism.personal
        if independent and mechanism.uneven and mechanism.alphabet == mechanism.report_length:
            # A code says which of so many answers is yes.
            return cls(np.ones(mechanism.alphabet, dtype=np.int64), nowhere, mechanism.alphabet, False)
        if mechanism.uneven or not independent:
            names = np.random.default_rng(SEED).integers(0, 1 << 62, mechanism.alphabet)
            return cls(names, nowhere, 1, True)
        shares = np.cumsum(np.bincount(reports.codes, minlength=mechanism.alphabet)) / reports.codes.size
        cut = min(int((shares < 0.5).sum()), mechanism.alphabet - 2)
        upper = (np.arange(mechanism.alphabet) > cut).astype(np.int64)
        high = (values > values.min()).astype(np.int64) if len(values) == len(nowhere) else nowhere
        return cls(upper, high, mechanism.report_length, False)

    def of_users(self, reports: Reports) -> Sums:
        """How many bits of each user's report are set."""
        named = self.upper[reports.codes]
        if self.high.any():
            length = reports.mechanism.report_length
            places = np.tile(np.arange(length), reports.users) if reports.dims is None else reports.dims
            named = named ^ self.high[places]
        totals = np.concatenate([[0], np.cumsum(named)])
        sums = np.diff(totals[reports.indptr])
        # Names are summed modulo 2^64; the middle bit of a sum hangs on every code.
        return np.asarray(sums >> 31 & 1 if self.together else sums)


def _odd_users(walk: Walk) -> list[str]:
    """Those who are drawn differently, in a sentence."""
    users = sum(map(len, walk.sums.values()))
    if not users:
        return []
    share = sum(int(sums.sum()) for sums in walk.sums.values()) / (users * walk.answers)
    worst: tuple[float, str] | None = None
    # Single users, blocks from both ends and whole calls; every k-th user; too many and too few.
    looks = 8 * users + 2 * MAX_STEP**2
    for count, sums in walk.sums.items():
        for title, totals, members in _groups(sums, walk.quick):
            draws = members * walk.answers
            for at in {int(totals.argmax()), int(totals.argmin())}:
                tail = float(log_tail(totals[at], draws, share))
                if tail < math.log(FALSE_ALARM / looks) and (worst is None or tail < worst[0]):
                    told = f"{title.format(at)} of {count:,}, {totals[at]:,} of {draws:,} answers"
                    worst = tail, told
    if worst is None:
        return []
    return [
        Leak(
            f"some users of a call are drawn differently from all others with the same row: of {worst[1]} lie on one side, of all "
            f"others {share:.1%}",
            Rank.CLEAR,
        )
    ]


def _groups(sums: Sums, quick: bool) -> Iterator[tuple[str, Sums, int]]:
    """Groups of users of one call that are as large as each other: their sums, and how many users each has."""
    users, length = len(sums), 1
    while length < users:
        yield f"users in block {{}} of {length:,}", _blocks(sums, length), length
        yield f"users in block {{}} of {length:,} from the end", _blocks(sums[::-1], length), length
        length *= 2 if length < 1000 else 10
    yield "all users in call {}", sums.sum(keepdims=True), users
    every = range(2, 1 + (QUICK_STEP if quick else MAX_STEP))
    for step in every if users in NOISE_COMPARED[:2] else STEPS:
        if 2 * step <= users:
            whole = users // step
            totals = sums[: whole * step].reshape(whole, step).sum(axis=0)
            yield f"every {step:,}th user from {{}} on", totals, whole


def _blocks(sums: Sums, length: int) -> Sums:
    """Whole blocks: what is left over is in a block from the other end."""
    whole = len(sums) // length
    return np.asarray(sums[: whole * length].reshape(whole, length).sum(axis=1))
