"""Does the sampler draw what the tables say? Whole reports of a small version, and every answer at full size.

Whole reports are drawn through the client's own path and compared with exact probabilities. Every comparison is a Clopper-Pearson
interval; all of them hold together with 99.9% (Bonferroni: each has 0.1% over their number). What falls outside is drawn again, with
fresh randomness, and counts only if it falls outside again: a correct mechanism fails with a probability of at most one in a million.

At full size each answer must be drawn within its table, whatever the value, and independently of the others: for many inputs that the
audit chooses (`inputs`), in calls for many users, for two and for one, and for lists of neighbours as users hold them. These
comparisons are Chernoff bounds, so unlikely for a right mechanism that no second look is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import compared_pairs, has_decoys
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import (
    ANSWERS,
    SAMPLER,
    BrokenError,
    Leak,
    Rank,
    Step,
    leaks_of,
    show,
)
from graphveil.audit.independence import check_answers, check_decoys, has_independent_answers
from graphveil.audit.lower_bound import (
    ERROR,
    FEWER,
    OFTEN,
    LowerBound,
    best_bound,
    clopper_pearson,
    confirm,
    most_separated,
    unlikely,
)
from graphveil.audit.probability_ranges import ReportRanges
from graphveil.audit.reports import Floats, Numbers, Version, batch, checked_reports, wide_batch
from graphveil.channels.sampling import SystemWords, Words
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists

# Events: single reports on either end, groups by likelihood ratio, groups in the order of enumeration.
SINGLES, RATIO_GROUPS, PLACE_GROUPS = 16, 32, 64
# Reports that are expected so rarely in all draws count together besides.
NEVER = 1e-3
# Calls for one user each: they are slow, and a fault of theirs is a coarse one.
MIN_CALLS, DRAWS_A_CALL = 200, 10_000
# A log-ratio that no table with counts above 0 has.
ONE_SIDED, TINY = 100.0, 1e-300
Places = NDArray[np.intp]


@dataclass(frozen=True)
class ReportEvent:
    """Some of the possible reports, whose draws are counted together."""

    title: str
    places: Places

    def count(self, counts: Numbers) -> int:
        """How often one of them was drawn."""
        return int(counts[self.places].sum())


def sampler_step(joint: JointDistribution, draws: int, words: Words) -> Step:
    """Compare how often reports are drawn with how often the tables say they are.

    Parameters
    ----------
    joint
        The exact distribution of whole reports.
    draws
        How many reports are drawn under each input.
    words
        Where random words come from.
    """
    # One symbol alone may be the one that is drawn wrongly.
    every = isinstance(joint.mechanism, SymbolMechanism)
    pair = most_separated(joint.shares, compared_pairs(joint.mechanism, joint.inputs))
    events = _events(joint, *pair, draws)
    looks, calls = len(joint.inputs) + 2, max(MIN_CALLS, draws // DRAWS_A_CALL)
    differences: list[tuple[float, str]] = []
    drawn: list[Numbers] = []
    claim = joint.mechanism.claim
    # Of an ε that enumeration has found above the claim, only more than that is news.
    known = claim.epsilon if claim.delta > 0 else max(claim.epsilon, joint.worst.loss.epsilon)

    def proven(rows: list[Numbers]) -> LowerBound:
        counts = np.array([[event.count(row) for event in events] for row in (rows[0], rows[-1])])
        inputs = joint.inputs[pair[0]], joint.inputs[pair[1]]
        return best_bound(counts, lambda place: events[place].title, inputs, draws, claim.delta)

    try:
        for index in range(len(joint.inputs)):
            here = draws if index in pair or every else max(draws // FEWER, 1)
            look = SamplerLook(joint, index, here, looks, partial(joint.draw, index, here, words))
            counts = look.draw()
            differences += look.difference(events, counts)
            drawn += [counts] if index in pair else []
        for index in pair:
            # A client asks for one user at a time.
            alone = partial(joint.draw_alone, index, calls, words)
            look = SamplerLook(joint, index, calls, looks, alone, ", in calls for one user each")
            differences += look.difference(events, look.draw())
        bound = confirm(
            proven(drawn), known, lambda: proven([joint.draw(index, draws, words) for index in pair])
        )
    except BrokenError as error:
        return Step(SAMPLER, "it failed on the way", (str(error),), failed=True)
    leaks: list[str] = [Leak(max(differences)[1], Rank.ANSWER)] if differences else []
    if bound.epsilon > known:
        leaks.append(Leak(bound.leak(claim.epsilon), Rank.BOUND))
    others = len(joint.inputs) - len(set(pair))
    seen = (
        f"{draws:,} whole reports under each of the two most separated inputs, {calls:,} by calls for one user each"
        f"{f', {draws if every else draws // FEWER:,} under {others} more' if others else ''}; {len(events)} comparisons each, jointly at "
        f"{1 - ERROR:.1%}; epsilon is at least {bound.epsilon:.6g}"
    )
    return Step(SAMPLER, seen, tuple(leaks))


@dataclass(frozen=True)
class SamplerLook:
    """Draws under one input, compared with its probabilities; what falls outside is drawn once more."""

    joint: JointDistribution
    index: int
    draws: int
    looks: int
    draw: Callable[[], Numbers]
    how: str = ""

    def difference(self, events: list[ReportEvent], counts: Numbers) -> list[tuple[float, str]]:
        """The event that is drawn too often or too rarely, twice, and is the farthest off (in standard deviations)."""
        shares = self.joint.shares[self.index]
        impossible = np.flatnonzero(shares == 0)
        never = (
            [ReportEvent("a report that the table says is impossible", impossible)] if impossible.size else []
        )
        outliers = self._outside([*events, *never], counts)
        if outliers:
            outliers = self._outside([event for event, _, _ in outliers], self.draw())
        if not outliers:
            return []
        event, count, share = max(outliers, key=self._surprise)
        low, high = clopper_pearson(count, self.draws, 1 - ERROR / len(outliers))
        message = (
            f"the sampler does not draw what the table says: under {show(self.joint.inputs[self.index])}{self.how}, {event.title} "
            f"came {count:,} times in {self.draws:,} (a probability from {low:.6g} to {high:.6g}), the table says "
            f"{share:.6g}"
        )
        return [(self._surprise((event, count, share)), message)]

    def _outside(self, events: list[ReportEvent], counts: Numbers) -> list[tuple[ReportEvent, int, float]]:
        shares = self.joint.shares[self.index]
        seen = [event.count(counts) for event in events]
        expected = [min(float(shares[event.places].sum()), 1.0) for event in events]
        outside = unlikely(seen, self.draws, expected, ERROR / (len(events) * self.looks))
        return [(events[place], seen[place], expected[place]) for place in np.flatnonzero(outside)]

    def _surprise(self, outlier: tuple[ReportEvent, int, float]) -> float:
        _, count, share = outlier
        return abs(count - share * self.draws) / math.sqrt(max(share * (1 - share) * self.draws, 1e-9))


def _events(joint: JointDistribution, one: int, other: int, draws: int) -> list[ReportEvent]:
    """What is compared: the reports that separate the two inputs most, and groups that leave none out."""
    mean = (joint.shares[one] + joint.shares[other]) / 2
    ratio = np.log(np.maximum(joint.shares[one], TINY)) - np.log(np.maximum(joint.shares[other], TINY))
    order = np.argsort(-ratio, kind="stable")
    often = order[mean[order] * draws >= OFTEN]
    describe = joint.mechanism.describe_outcome
    singles = dict.fromkeys([*often[:SINGLES].tolist(), *often[-SINGLES:].tolist()])
    events = [ReportEvent(f"the report ({describe(place)})", np.array([place])) for place in singles]
    groups = [(places, _ratio_title(places, ratio)) for places in _cut(order, mean, RATIO_GROUPS)]
    for places in _cut(np.arange(len(mean)), mean, PLACE_GROUPS):
        first, last = describe(int(places[0])), describe(int(places[-1]))
        groups.append((places, f"one of {len(places)} reports from ({first}) to ({last})"))
    for most, title in ((OFTEN, "rare"), (NEVER, "all but impossible")):
        rare = np.flatnonzero(mean * draws < most)
        if rare.size:
            groups.append((rare, f"one of {len(rare)} reports that are {title} under both"))
    alone = set(singles)
    return events + [
        ReportEvent(title, places)
        for places, title in groups
        if len(places) > 1 or int(places[0]) not in alone
    ]


def _ratio_title(places: Places, ratio: Floats) -> str:
    low, high = float(ratio[places].min()), float(ratio[places].max())
    if max(abs(low), abs(high)) > ONE_SIDED:
        return f"one of {len(places)} reports that hardly come under one of the two"
    return f"one of {len(places)} reports whose log-ratio lies from {low:.4g} to {high:.4g}"


def _cut(order: Places, mass: Floats, groups: int) -> list[Places]:
    """Cut an order of places into groups of about equal mass."""
    label = np.minimum((np.cumsum(mass[order]) * groups).astype(np.int64), groups - 1)
    return [order[label == group] for group in np.unique(label)]


# Values of one look, users that it has at least, and users of small calls, one by one and two by two.
QUICK_VALUES, VALUES, MIN_USERS, CALLS = 1 << 17, 1 << 20, 500, 64
# Inputs that are tried in small calls: those are slow.
ALONE = 5
# Inputs that are tried with the words of devices: those are slow too.
UNSEEDED = 2
# Lists of neighbours are tried for users who are asked about so many others.
OWNERS = (1, 2, 7, 64, 1000)


def answers_step(version: Version, quick: bool) -> Step:
    """Compare all answers of a mechanism, as it is used, with their tables and with each other."""
    mechanism, ranges = version.mechanism, ReportRanges.of(version.mechanism)
    values = QUICK_VALUES if quick else VALUES
    leaks: list[str] = []
    message = "no table a value"
    if ranges is not None:
        leaks = leaks_of(check_tables, version, ranges, version.valid, values)
        if not leaks:
            odd = leaks_of(check_tables, version, ranges, version.invalid, values)
            leaks = [Leak(leak, Rank.VALUE) for leak in odd]
        message = (
            f"{len(version.valid) + len(version.invalid)} inputs on and off the grid, within their tables"
        )
    leaks += leaks_of(check_answers, version, values) + leaks_of(check_decoys, version, values)
    seen = f"{message}; calls for many users, for two and for one"
    if has_decoys(mechanism):
        seen += "; decoys among the answers carry nothing"
    elif has_independent_answers(mechanism):
        seen += "; pairs, triples and halves of answers: independent"
    return Step(ANSWERS, seen, tuple(leaks))


def check_tables(
    version: Version,
    ranges: ReportRanges,
    inputs: dict[str, Any],
    values: int,
    alone: bool = True,
    least: int = MIN_USERS,
) -> None:
    """Answers must be drawn within their tables.

    Parameters
    ----------
    version
        The mechanism and where its random words come from.
    ranges
        The allowed probabilities of every answer.
    inputs
        What users hold, by title.
    values
        How many values a look has in all.
    alone
        Whether to make small calls too.
    least
        How many users a look has, however long their rows are.
    """
    users = max(least, values // (4 * max(version.mechanism.shape.row_length, 8)))
    ranges.check(_looks(version, ranges, inputs, users, alone))


def _looks(
    version: Version, ranges: ReportRanges, inputs: dict[str, Any], users: int, alone: bool
) -> Iterator[tuple[str, Numbers]]:
    mechanism, words = version.mechanism, version.words
    for title, private in inputs.items():
        yield title, ranges.count(checked_reports(mechanism, batch(private, users), words))
    some = list(inputs.items()) if alone else []
    for title, private in some[:UNSEEDED]:
        for source in (None, SystemWords()):
            how = "without words" if source is None else "with the system's words"
            yield f"{title}, {how}", ranges.count(checked_reports(mechanism, batch(private, users), source))
    for title, private in some[:ALONE]:
        for size in (1, 2):
            row = batch(private, size)
            parts = [ranges.count(checked_reports(mechanism, row, words)) for _ in range(CALLS // size)]
            yield f"{title}, in calls for {'one user' if size == 1 else 'two users'}", np.sum(parts, axis=0)
    if isinstance(mechanism, LinkMechanism):
        yield from _list_looks(ranges, mechanism, users, words)


def _list_looks(
    ranges: ReportRanges, mechanism: LinkMechanism, users: int, words: Words | None
) -> Iterator[tuple[str, Numbers]]:
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
            counts = ranges.count(reports)
            counts[others] = 0
            yield f"lists of {len(held)} neighbours of user {owner}", counts
