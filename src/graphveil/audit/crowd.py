"""Many users in one call: is the first, the last, every hundredth drawn like all others, and from words of its own?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.behaviour import alone
from graphveil.audit.calls import walk_calls, walked_row, words_of_their_own
from graphveil.audit.findings import (
    FALSE_ALARM,
    LOOKS,
    USERS,
    Leak,
    Rank,
    Step,
    checked_reports,
    wide_batch,
)
from graphveil.audit.hull import Counts, Hull, span_tails
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.probe import CountedWords, Probe
from graphveil.audit.repeats import never_again
from graphveil.audit.schedule import Schedule
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.rows import PublicRange

# Users of the call, fewer where reports are long; no power of two, and beyond 2^17.
CROWD, MIN_CROWD, QUICK_VALUES, VALUES = 140_009, 500, 1 << 20, 1 << 23
# Values that users hold at most, where they hold different rows.
MAX_HELD = 1 << 22
# Values that are read at most, where a report is about a whole row.
MAX_READ = 1 << 26
# Users are looked at by blocks of these lengths, and by every so-manieth.
BLOCKS, STEPS = (1000,), (2, 3, 7, 10, 64, 100, 1000, 1024)


def crowd_step(
    mechanism: Mechanism, public: PublicRange | None, words: Words, schedule: Schedule, walked: Mechanism
) -> Step:
    """One call for very many users with the same row; then calls of all sizes of a schedule, of the mechanism to be ``walked``."""
    users, leaks = _one_call(mechanism, public, words, schedule.quick)
    first = f"{users:,} users with the same row: noise does not come back at any distance, nobody is left out"
    if leaks or mechanism.trust == "curator":
        return Step(USERS, first, tuple(leaks))
    walk = walk_calls(walked, walked_row(walked, public), schedule, words)
    for count in () if walk.leaks else schedule.mixed_calls:
        # Rows of their own take memory, unlike one that all share.
        walk.leaks.extend(alone(Probe.around(walked, public, min(count, MAX_HELD // walked.row_length))))
    largest = max(walk.sums, default=0)
    seen = f"{first}; calls for {len(walk.sums)} numbers of users up to {largest:,}, {walk.answers} answers of each user"
    covers = (f"{len(walk.sums)} numbers of users in one call from 1 to {max(largest, users):,}",)
    return Step(USERS, seen, tuple(walk.leaks), unfinished=not walk.finished, covers=covers)


def _one_call(
    mechanism: Mechanism, public: PublicRange | None, words: Words, quick: bool
) -> tuple[int, list[str]]:
    """How many users were asked together, and what was found."""
    values = QUICK_VALUES if quick else VALUES
    users = max(MIN_CROWD, min(CROWD, values // max(mechanism.report_length, 1)))
    if isinstance(mechanism, ClassMechanism):
        # Every value of a row is read for its one code.
        users = max(MIN_CROWD, min(users, MAX_READ // mechanism.row_length))
    inputs = valid_inputs(mechanism, public)
    private = next(iter(inputs.values()))
    hull = Hull.of(mechanism)
    counted = CountedWords(words)
    crowd = checked_reports(mechanism, wide_batch(private, users), counted)
    leaks = words_of_their_own(mechanism, private, users, counted.taken)
    again = never_again(mechanism, private, crowd, words)
    leaks += again
    # Where noise comes again, groups of users are no independent draws.
    if hull is not None and not again:
        leaks += everybody_alike(hull, private, users, words)
    return users, leaks


def everybody_alike(hull: Hull, private: Any, users: int, words: Words) -> list[str]:
    """Whether every block of users, and every so-manieth user, answers within the tables."""
    reports = checked_reports(hull.mechanism, wide_batch(private, users), words)
    there, low, high = hull.halves(reports)
    looks = [(f"block {{}} of {size} users", *_in_blocks(there, size)) for size in BLOCKS if size < users]
    looks += [
        (f"every {step}th user, from user {{}} on,", *_in_steps(there, step))
        for step in STEPS
        if step < users
    ]
    for title, seen, asked in looks:
        tails = span_tails(seen, asked[:, None], low, high)
        wrong = (tails < math.log(FALSE_ALARM / (LOOKS * tails.size))).any(axis=1)
        others = span_tails(seen[~wrong].sum(axis=0)[None], asked[~wrong].sum(), low, high)
        # Where the others are drawn wrongly as well, it is nothing about some users.
        if wrong.all() or float(others.min()) < math.log(FALSE_ALARM / (LOOKS * tails.size)):
            place = int(tails.sum(axis=0).argmin())
            message = (
                f"an answer is not drawn from its table: in a call for {users:,} users answer {place} lies in the upper half "
                f"in {there[:, place].mean():.1%}, its table allows {low[place]:.1%} to {high[place]:.1%}"
            )
            return [Leak(message, Rank.ANSWER)]
        if wrong.any():
            at, place = (int(one) for one in np.unravel_index(int(tails.argmin()), tails.shape))
            message = (
                f"some users of a large call are drawn differently: {title.format(at)} of {users:,} give answer {place} in "
                f"the upper half in {seen[at, place] / asked[at]:.1%}, its table allows {low[place]:.1%} to {high[place]:.1%}"
            )
            return [Leak(message, Rank.CLEAR)]
    return []


def _in_blocks(there: NDArray[np.bool_], size: int) -> tuple[Counts, Counts]:
    """How often each answer is set in each block of users, and how many users it has."""
    starts = np.arange(0, len(there), size)
    return np.add.reduceat(there, starts, axis=0, dtype=np.int64), np.diff(np.append(starts, len(there)))


def _in_steps(there: NDArray[np.bool_], step: int) -> tuple[Counts, Counts]:
    """The same for every so-manieth user."""
    whole = len(there) // step
    seen = there[: whole * step].reshape(whole, step, -1).sum(axis=0, dtype=np.int64)
    rest = there[whole * step :]
    seen[: len(rest)] += rest
    return seen, whole + (np.arange(step) < len(rest))
