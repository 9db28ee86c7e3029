"""Every answer at full size: is each one drawn within its table, whatever the value, and independently of the others?

Many inputs that the audit chooses (`inputs`), calls for many users, for two and for one, and lists of neighbours as users
hold them. Comparisons are Chernoff bounds, so unlikely for a right mechanism that no second look is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphveil.audit.control import sighted_decoys
from graphveil.audit.dependence import dependent_answers
from graphveil.audit.findings import (
    ANSWERS,
    FALSE_ALARM,
    LOOKS,
    BrokenError,
    Leak,
    Rank,
    Step,
    batch,
    checked_reports,
    wide_batch,
)
from graphveil.audit.hull import TOGETHER, Counts, Hull, Outside
from graphveil.audit.inputs import misfits, valid_inputs
from graphveil.audit.trust import claims_independence, has_decoys
from graphveil.channels.sampling import SystemWords, Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.rows import PublicRange

# Values of one look, users that it has at least, and users of small calls, one by one and two by two.
QUICK_VALUES, VALUES, MIN_USERS, CALLS = 1 << 17, 1 << 20, 500, 64
# Inputs that are tried in small calls: those are slow.
ALONE = 5
# Inputs that are tried with the words of devices: those are slow too.
UNSEEDED = 2
# Lists of neighbours are tried for users who are asked about so many others.
OWNERS = (1, 2, 7, 64, 1000)


def answers_step(mechanism: Mechanism, public: PublicRange | None, quick: bool, words: Words) -> Step:
    """All answers of the mechanism as it is used."""
    hull = Hull.of(mechanism)
    values = QUICK_VALUES if quick else VALUES
    inputs, odd = valid_inputs(mechanism, public), misfits(mechanism, public)
    leaks = [] if hull is None else within_tables(hull, inputs, values, words)
    if hull is not None and not leaks:
        leaks = [Leak(leak, Rank.VALUE) for leak in within_tables(hull, odd, values, words)]
    together = dependent_answers(mechanism, public, values, words)
    together += sighted_decoys(mechanism, public, values, words)
    message = (
        "no table a value"
        if hull is None
        else f"{len(inputs) + len(odd)} inputs on and off the grid, within their tables"
    )
    seen = f"{message}; calls for many users, for two and for one; pairs, triples and halves of answers: independent"
    if has_decoys(mechanism):
        seen = f"{message}; calls for many users, for two and for one; decoys among the answers carry nothing"
    elif not independent_answers_claimed(mechanism):
        seen = f"{message}; calls for many users, for two and for one"
    return Step(ANSWERS, seen, (*leaks, *together))


def independent_answers_claimed(mechanism: Mechanism) -> bool:
    """Whether a report consists of several answers that are said to be independent."""
    count = sum(answer.count for answer in mechanism.answers)
    alone = mechanism.finite and claims_independence(mechanism) and not mechanism.personal
    return alone and count == mechanism.report_length > 1


def within_tables(
    hull: Hull,
    inputs: dict[str, Any],
    values: int,
    words: Words,
    alone: bool = True,
    least: int = MIN_USERS,
) -> list[str]:
    """Whether every answer lies within its table, ``alone`` also in small calls; the gravest of what does not.

    A look has so many values, and ``least`` users however long their rows are.
    """
    users = max(least, values // (4 * max(hull.mechanism.row_length, 8)))
    return _gravest(hull, _looks(hull, inputs, users, words, alone))


def drawn_often(hull: Hull, inputs: dict[str, Any], users: int, words: Words) -> list[str]:
    """The same for so many users of each input, so that rare noise shows."""
    looks = (
        (title, hull.count(checked_reports(hull.mechanism, wide_batch(private, users), words)))
        for title, private in inputs.items()
    )
    return _gravest(hull, looks)


def _gravest(hull: Hull, looks: Iterator[tuple[str, Counts]]) -> list[str]:
    log_error = math.log(FALSE_ALARM / (LOOKS * hull.events))
    misses: list[tuple[Outside, str]] = []
    for title, counts in looks:
        outside = hull.outside(counts, log_error)
        if outside is not None:
            misses.append((outside, title))
    if not misses:
        return []
    outside, title = min(misses, key=lambda one: (not one[0].clear, one[0].log_tail))
    return [outside_leak(outside, title, hull)]


def outside_leak(outside: Outside, title: str, hull: Hull) -> Leak:
    """The finding in a sentence."""
    where = f" for value {outside.place}" if hull.places > 1 else ""
    if outside.place == TOGETHER:
        where = " for all values together"
    if outside.clear:
        return Leak(f"it is sent in the clear: under {title}, {outside.told}{where}", Rank.CLEAR)
    return Leak(f"an answer is not drawn from its table: under {title}, {outside.told}{where}", Rank.ANSWER)


def _looks(
    hull: Hull, inputs: dict[str, Any], users: int, words: Words, alone: bool
) -> Iterator[tuple[str, Counts]]:
    mechanism = hull.mechanism
    for title, private in inputs.items():
        yield title, hull.count(checked_reports(mechanism, batch(private, users), words))
    for title, private in list(inputs.items())[:UNSEEDED] if alone else ():
        for source in (None, SystemWords()):
            how = "without words" if source is None else "with the system's words"
            yield f"{title}, {how}", hull.count(checked_reports(mechanism, batch(private, users), source))
    for title, private in list(inputs.items())[:ALONE] if alone else ():
        for size in (1, 2):
            row = batch(private, size)
            parts = [hull.count(checked_reports(mechanism, row, words)) for _ in range(CALLS // size)]
            yield f"{title}, in calls for {'one user' if size == 1 else 'two users'}", np.sum(parts, axis=0)
    if isinstance(mechanism, LinkMechanism):
        yield from _list_looks(hull, mechanism, users, words)


def _list_looks(
    hull: Hull, mechanism: LinkMechanism, users: int, words: Words
) -> Iterator[tuple[str, Counts]]:
    """Lists as users hold them: everybody is asked about users with smaller numbers alone, or about all others."""
    for owner in sorted({min(owner, mechanism.size - 1) for owner in OWNERS} - {0, -1}):
        for held in ([], list(range(owner)), list(range(0, owner, 2))):
            lists = NeighbourLists(
                np.full(users, owner),
                np.arange(users + 1) * len(held),
                np.asarray(wide_batch(held, users)).ravel().astype(np.int64),
            )
            reports = checked_reports(mechanism, lists, words, users)
            others = np.setdiff1d(np.arange(mechanism.size), mechanism.asked(owner))
            strange = np.intersect1d(mechanism.neighbours(reports)[1], others)
            if strange.size:
                about = "all others" if mechanism.ends == "both" else f"users below {owner}"
                raise BrokenError(
                    f"user {owner} is asked about {about} and answers about user {int(strange[-1])}"
                )
            counts = hull.count(reports)
            counts[others] = 0
            yield f"lists of {len(held)} neighbours of user {owner}", counts
