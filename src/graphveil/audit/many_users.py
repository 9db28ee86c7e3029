"""Many users in one call: is the first, the last, every hundredth drawn like all others, and from words of its own?

All hold the same row, so that all answers of all users in all calls are draws of one kind. Of each user it is counted how many answers
lie on the side of their value, over several calls, until a user without noise stands out alone. Then single users, blocks of all
lengths from both ends, every k-th user and whole calls are compared with everybody else, by Chernoff's bound (`lower_bound.log_tail`,
which holds for draws without replacement). No table is believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.answers import ReportRanges, range_tails
from graphveil.audit.behaviour import check_others
from graphveil.audit.candidate import Candidate, answers_alone, has_levels
from graphveil.audit.findings import LeakError, OutOfTimeError, Rank, Step, Title, leaks_of, log_false_alarm
from graphveil.audit.independence import check_noise
from graphveil.audit.lower_bound import log_tail
from graphveil.audit.reports import (
    SEED,
    CountedBits,
    Numbers,
    Probe,
    Version,
    code_count,
    middle_code,
    place_count,
    placed_codes,
    reports_of,
    wide_batch,
)
from graphveil.audit.versions import NOISE_COMPARED, AuditSchedule
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.reports import Reports

# Users of the call, fewer where reports are long; no power of two, and beyond 2^17.
CROWD, MIN_CROWD, QUICK_VALUES, VALUES = 140_009, 500, 1 << 20, 1 << 23
# Values that users hold at most, where they hold different rows.
MAX_HELD = 1 << 22
# Values that are read at most, where a report is about a whole row.
MAX_READ = 1 << 26
# Users of that call are looked at by blocks of these lengths, and by every so-manieth.
CROWD_BLOCKS, CROWD_STEPS = (1000,), (2, 3, 7, 10, 64, 100, 1000, 1024)


def many_users_step(version: Version, schedule: AuditSchedule, walked: Mechanism) -> Step:
    """Call for very many users with the same row, and for all numbers of users of a schedule.

    Parameters
    ----------
    version
        The mechanism as it is audited, for the one large call.
    schedule
        The numbers of users to call for.
    walked
        A small version of the mechanism, for the calls of the schedule.
    """
    mechanism, private = version.mechanism, next(iter(version.valid.values()))
    values = QUICK_VALUES if schedule.quick else VALUES
    users = min(CROWD, values // max(mechanism.shape.length, 1))
    if isinstance(mechanism, ClassMechanism):
        # Every value of a row is read for its one code.
        users = min(users, MAX_READ // mechanism.shape.row_length)
    users = max(MIN_CROWD, users)
    ranges = ReportRanges.of(mechanism)
    crowd, taken = version.draw_counted(private, users)
    leaks = leaks_of(check_words, mechanism, private, users, taken)
    again = leaks_of(check_noise, version, private, crowd)
    # Where noise comes again, groups of users are no independent draws.
    if ranges is not None and not again:
        leaks += leaks_of(check_everybody, version, ranges, private, users)
    leaks += again
    first = f"{users:,} users with the same row: noise does not come back at any distance, nobody is left out"
    if leaks or mechanism.trust == "curator":
        return Step(Title.USERS, first, tuple(leaks))
    small = replace(version, mechanism=walked)
    walk = walk_calls(small, walked_row(small), schedule)
    leaks = walk.leaks
    for count in () if walk.leaks else schedule.mixed_calls:
        # Rows of their own take memory, unlike one that all share.
        held = min(count, MAX_HELD // walked.shape.row_length)
        leaks = leaks + leaks_of(check_others, Probe.around(small, held))
    largest = max(walk.sums, default=0)
    seen = f"{first}; calls for {len(walk.sums)} numbers of users up to {largest:,}, {walk.answers} answers of each user"
    covers = (f"{len(walk.sums)} numbers of users in one call from 1 to {max(largest, users):,}",)
    return Step(Title.USERS, seen, tuple(leaks), unfinished=not walk.finished, covers=covers)


def check_everybody(version: Version, ranges: ReportRanges, private: Any, users: int) -> None:
    """Check that every block of users, and every k-th user, answers within the tables.

    Parameters
    ----------
    version
        The mechanism and where its random words come from.
    ranges
        The allowed probabilities of every answer.
    private
        What all of these users hold.
    users
        How many users there are in one call.
    """
    there, low, high = ranges.halves(version.draw(private, users))
    for title, seen, members in user_groups(there, CROWD_BLOCKS, CROWD_STEPS):
        tails = range_tails(seen, members, low, high)
        wrong = (tails < log_false_alarm(tails.size)).any(axis=1)
        others = range_tails(seen[~wrong].sum(axis=0)[None], members * (~wrong).sum(), low, high)
        # Where the others are drawn wrongly as well, it is nothing about some users.
        if wrong.all() or float(others.min()) < log_false_alarm(tails.size):
            place = int(tails.sum(axis=0).argmin())
            detail, rank, who = (
                "an answer is not drawn from its table",
                Rank.ANSWER,
                f"{users:,} users of a call",
            )
            share = there[:, place].mean()
        elif wrong.any():
            at, place = (int(one) for one in np.unravel_index(int(tails.argmin()), tails.shape))
            detail, rank = "some users of a large call are drawn differently", Rank.CLEAR
            who, share = f"{title.format(at)} of {users:,}", seen[at, place] / members
        else:
            continue
        allowed = f"its table allows {low[place]:.1%} to {high[place]:.1%}"
        raise LeakError(
            f"{detail}: {who} give answer {place} in the upper half in {share:.1%}, {allowed}", rank
        )


def user_groups(
    values: NDArray[Any], lengths: Iterable[int], steps: Iterable[int]
) -> Iterator[tuple[str, Numbers, int]]:
    """Add up the values (users, answers) of blocks of users, from both ends, and of every so-manieth user.

    Yields what the groups are called, their sums (groups, answers) and how many users each has.

    Parameters
    ----------
    values
        Values of each user of a call: (users, answers).
    lengths
        The lengths of blocks. What is left over at one end is in a block from the other.
    steps
        The distances of users.
    """
    users, answers = values.shape
    for length in lengths:
        whole = users // length
        for held, end in ((values, ""), (values[::-1], " from the end")) if whole else ():
            blocks = held[: whole * length].reshape(whole, length, answers)
            yield f"users in block {{}} of {length:,}{end}", blocks.sum(axis=1), length
    for step in steps:
        if 2 * step <= users:
            whole = users // step
            columns = values[: whole * step].reshape(whole, step, answers)
            yield f"every {step:,}th user from {{}} on", columns.sum(axis=0), whole


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
# Users are looked at by blocks of these lengths and by every k-th for these k; in one large call for all k up to the largest, or to the quick one.
MAX_STEP, QUICK_STEP = 10_000, 1000
LENGTHS = (*(1 << power for power in range(11)), 10_240, 102_400)
STEPS = (2, 3, 5, 7, 8, 10, 13, 16, 32, 60, 64, 97, 100, 128, 256, 500, 512, 1000, 1024, 4096, 7919, 10_000)


@dataclass(frozen=True, eq=False)
class CallWalk:
    """Calls of some sizes, and of each size the sums of every user's answers."""

    sums: dict[int, Numbers]
    # How many answers each user gave in all calls of one size.
    answers: int
    quick: bool
    leaks: list[str] = field(default_factory=list)
    finished: bool = True


def walked_candidate(candidate: Candidate) -> Mechanism:
    """The mechanism as its calls are walked through: few values and little of each; a plan's with its own size."""
    whole = candidate.build()
    if candidate.fixed:
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


def walked_row(version: Version) -> Any:
    """Return the row that all users hold.

    Its values are the two ends of the range in turn, so that a value which is sent as it is shows.
    """
    inputs = list(version.valid.values())
    if version.mechanism.subject != "features" or has_levels(version.mechanism):
        return inputs[0]
    low, high = (np.asarray(row) for row in inputs[:2])
    return np.where(np.arange(len(low)) % 2 == 0, low, high)


def walk_calls(version: Version, row: Any, schedule: AuditSchedule) -> CallWalk:
    """Call for all numbers of users of a schedule, who all hold the same row.

    It ends early where time is over or the codes are too many.

    Parameters
    ----------
    version
        A small version of the mechanism.
    row
        The row that all users hold.
    schedule
        The numbers of users to call for.
    """
    mechanism, pilot = version.mechanism, version.draw(row, PILOT)
    bits = CodeSides.of(pilot, row)
    share = float(bits.of_users(pilot).mean()) / bits.answers
    rarest = -math.log(max(share, 1 - share, 1e-9))
    calls = max(2, min(MAX_CALLS, math.ceil(SURE / (bits.answers * rarest)) if rarest > 0 else MAX_CALLS))
    length = max(1, math.ceil(pilot.codes.size / PILOT), mechanism.shape.row_length // 8)
    most = (QUICK_CODES if schedule.quick else MAX_CODES) // (calls * length)
    walk = CallWalk({}, calls * bits.answers, schedule.quick)
    try:
        for users in schedule.calls:
            if users > most:
                break
            total = np.zeros(users, dtype=np.int64)
            for call in range(calls):
                reports, taken = version.draw_counted(row, users)
                if call == 0:
                    check_words(mechanism, row, users, taken)
                    if users in NOISE_COMPARED:
                        check_noise(version, row, reports)
                total += bits.of_users(reports)
            walk.sums[users] = total
        check_odd_users(walk)
    except LeakError as error:
        return replace(walk, leaks=[error.leak])
    except OutOfTimeError:
        return replace(walk, leaks=leaks_of(check_odd_users, walk), finished=False)
    return walk


def check_words(mechanism: Mechanism, private: Any, users: int, taken: int) -> None:
    """A user of a call for so many ``users``, which took so many words, must not take fewer than one of a small call.

    Parameters
    ----------
    mechanism
        The mechanism under audit.
    private
        What all of these users hold.
    users
        How many users the large call was for.
    taken
        How many random words it took.
    """
    if users < 2 * FEW:
        return
    few = CountedBits(SEED)
    reports_of(mechanism, wide_batch(private, FEW), few)
    each, there = few.taken / FEW, taken / users
    # Links take a word for each change, so how many there are is random.
    slack = DEVIATIONS * math.sqrt(each / FEW) if mechanism.shape.uneven else 0.0
    if there < FEWER_WORDS * each - slack:
        detail = (
            f"a call for {FEW:,} users draws {each:.3g} words a user, one for {users:,} users {there:.3g}"
        )
        raise LeakError(f"random words are used more than once: {detail}", Rank.USERS)


@dataclass(frozen=True, eq=False)
class CodeSides:
    """The codes that count: those on the side of a value, or one bit of a whole report.

    The latter is for mechanisms whose answers depend on each other.
    """

    # What each code counts for a low value; for places with a high one it is turned around.
    upper: NDArray[np.int64]
    high: NDArray[np.int64]
    answers: int
    together: bool

    @classmethod
    def of(cls, reports: Reports, row: Any) -> CodeSides:
        """Choose the sides by a first look."""
        mechanism, values = reports.mechanism, np.atleast_1d(row)
        shape, nowhere = mechanism.shape, np.zeros(place_count(mechanism), dtype=np.int64)
        if not answers_alone(mechanism) or (shape.uneven and shape.alphabet != shape.length):
            names = np.random.default_rng(SEED).integers(0, 1 << 62, shape.alphabet)
            return cls(names, nowhere, 1, True)
        cut = middle_code(placed_codes(reports)[2], code_count(mechanism))
        upper = (np.arange(code_count(mechanism)) > cut).astype(np.int64)
        known = len(values) == len(nowhere) and not shape.uneven
        high = (values > values.min()).astype(np.int64) if known else nowhere
        return cls(upper, high, shape.length, False)

    def of_users(self, reports: Reports) -> Numbers:
        """Return the number of set bits in each user's report, (users,) int64."""
        _, places, codes = placed_codes(reports)
        named = self.upper[reports.codes if self.together else codes]
        if self.high.any():
            named = named ^ self.high[places]
        totals = np.concatenate([[0], np.cumsum(named)])
        sums = np.diff(totals[reports.indptr])
        # Names are summed modulo 2^64; the middle bit of a sum hangs on every code.
        return np.asarray(sums >> 31 & 1 if self.together else sums)


def check_odd_users(walk: CallWalk) -> None:
    """Check that no user is drawn differently from all others."""
    users = sum(map(len, walk.sums.values()))
    if not users:
        return
    share = sum(int(sums.sum()) for sums in walk.sums.values()) / (users * walk.answers)
    worst: tuple[float, str] | None = None
    # Single users, blocks from both ends and whole calls; every k-th user; too many and too few.
    looks = 8 * users + 2 * MAX_STEP**2
    for count, sums in walk.sums.items():
        every = range(2, 1 + (QUICK_STEP if walk.quick else MAX_STEP))
        steps = every if count in NOISE_COMPARED[:2] else STEPS
        for title, totals, members in user_groups(sums[:, None], [*LENGTHS, count], steps):
            draws = members * walk.answers
            for at in {int(totals.argmax()), int(totals.argmin())}:
                tail = float(log_tail(totals[at, 0], draws, share))
                if tail < log_false_alarm(looks, 1) and (worst is None or tail < worst[0]):
                    worst = tail, f"{title.format(at)} of {count:,}, {totals[at, 0]:,} of {draws:,} answers"
    if worst is not None:
        detail = f"of {worst[1]} lie on one side, of all others {share:.1%}"
        raise LeakError(
            f"some users of a call are drawn differently from all others with the same row: {detail}",
            Rank.CLEAR,
        )
