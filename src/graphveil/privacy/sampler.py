"""Does the sampler draw what the tables say? Many draws through the client's own path, against exact probabilities.

Every comparison is a Clopper-Pearson interval; all of them hold together with 99.9% (Bonferroni: each has 0.1% over
their number). What falls outside is drawn again, with fresh randomness, and counts only if it falls outside again: a
correct mechanism fails with a probability of at most one in a million.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import Words
from graphveil.privacy.bound import ERROR, FEWER, OFTEN, Bound, Counts, Floats, best_bound, most_separated
from graphveil.privacy.findings import SAMPLER, BrokenError, Step, show
from graphveil.privacy.interval import clopper_pearson, unlikely
from graphveil.privacy.joint import Joint

# Events: single reports on either end, groups by likelihood ratio, groups in the order of enumeration.
SINGLES, RATIO_GROUPS, PLACE_GROUPS = 16, 32, 64
# A log-ratio that no table with counts above 0 has.
ONE_SIDED = 100.0

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Event:
    """Some of the possible reports, whose draws are counted together."""

    title: str
    places: Places

    def count(self, counts: Counts) -> int:
        """How often one of them was drawn."""
        return int(counts[self.places].sum())


def sampler_step(joint: Joint, draws: int, words: Words) -> Step:
    """Compare how often reports are drawn with how often the tables say they are."""
    pair = most_separated(joint.shares)
    events = _events(joint, *pair, draws)
    differences: list[tuple[float, str]] = []
    drawn: list[Counts] = []
    try:
        for index in range(len(joint.inputs)):
            here = draws if index in pair else max(draws // FEWER, 1)
            counts = joint.draw(index, here, words)
            differences += _difference(joint, index, events, counts, here, words)
            drawn += [counts] if index in pair else []
        bound = _proven(joint, pair, events, drawn, draws, words)
    except BrokenError as error:
        return Step(SAMPLER, "it failed on the way", (str(error),), failed=True)
    leaks = [max(differences)[1]] if differences else []
    if bound.epsilon > _known(joint):
        leaks.append(bound.leak(joint.mechanism.claim.epsilon))
    others = len(joint.inputs) - len(set(pair))
    seen = (
        f"{draws:,} whole reports under each of the two most separated inputs"
        f"{f', {draws // FEWER:,} under {others} more' if others else ''}; {len(events)} comparisons each, jointly at "
        f"{1 - ERROR:.1%}; epsilon is at least {bound.epsilon:.6g}"
    )
    return Step(SAMPLER, seen, tuple(leaks))


def _difference(
    joint: Joint, index: int, events: list[Event], counts: Counts, draws: int, words: Words
) -> list[tuple[float, str]]:
    """The event that is drawn too often or too rarely, twice, and is the farthest off (in standard deviations)."""
    shares = joint.shares[index]
    suspects = [*events, *_impossible(shares)]
    for again in (False, True):
        counts = joint.draw(index, draws, words) if again else counts
        seen = np.array([event.count(counts) for event in suspects])
        expected = np.array([min(shares[event.places].sum(), 1.0) for event in suspects])
        outside = unlikely(seen, draws, expected, ERROR / (len(suspects) * len(joint.inputs)))
        found = [
            (suspects[place], int(seen[place]), float(expected[place])) for place in np.flatnonzero(outside)
        ]
        if not found:
            return []
        suspects = [event for event, _, _ in found]
    surprise, event, count, share = max(
        ((_surprise(count, share, draws), event, count, share) for event, count, share in found),
        key=lambda item: item[0],
    )
    low, high = clopper_pearson(count, draws, 1 - ERROR / len(found))
    told = (
        f"the sampler does not draw what the table says: under {show(joint.inputs[index])}, {event.title} came "
        f"{count:,} times in {draws:,} (a probability from {low:.6g} to {high:.6g}), the table says {share:.6g}"
    )
    return [(surprise, told)]


def _proven(
    joint: Joint, pair: tuple[int, int], events: list[Event], drawn: list[Counts], draws: int, words: Words
) -> Bound:
    """What whole reports prove about ε under the two most separated inputs; a bound above the claim is confirmed."""
    claim = joint.mechanism.claim

    def bound(rows: list[Counts]) -> Bound:
        counts = np.array([[event.count(row) for event in events] for row in (rows[0], rows[-1])])
        inputs = joint.inputs[pair[0]], joint.inputs[pair[1]]
        return best_bound(counts, lambda place: events[place].title, inputs, draws, claim.delta)

    first = bound(drawn)
    if first.epsilon <= _known(joint):
        return first
    again = bound([joint.draw(index, draws, words) for index in pair])
    return min(first, again, key=lambda one: one.epsilon)


def _known(joint: Joint) -> float:
    """The claim, or the ε that enumeration has found above it: only more than that is news."""
    claim = joint.mechanism.claim
    return claim.epsilon if claim.delta > 0 else max(claim.epsilon, joint.worst.loss.epsilon)


def _surprise(count: int, share: float, draws: int) -> float:
    return abs(count - share * draws) / math.sqrt(max(share * (1 - share) * draws, 1e-9))


def _events(joint: Joint, one: int, other: int, draws: int) -> list[Event]:
    """What is compared: the reports that separate the two inputs most, and groups that leave none out."""
    mean = (joint.shares[one] + joint.shares[other]) / 2
    ratio = _log_ratio(joint.shares[one], joint.shares[other])
    order = np.argsort(-ratio, kind="stable")
    often = order[mean[order] * draws >= OFTEN]
    describe = joint.mechanism.describe_outcome
    singles = dict.fromkeys([*often[:SINGLES].tolist(), *often[-SINGLES:].tolist()])
    events = [Event(f"the report ({describe(place)})", np.array([place])) for place in singles]
    groups = [(places, _ratio_title(places, ratio)) for places in _cut(order, mean, RATIO_GROUPS)]
    for places in _cut(np.arange(len(mean)), mean, PLACE_GROUPS):
        first, last = describe(int(places[0])), describe(int(places[-1]))
        groups.append((places, f"one of {len(places)} reports from ({first}) to ({last})"))
    alone = set(singles)
    return events + [
        Event(title, places) for places, title in groups if len(places) > 1 or int(places[0]) not in alone
    ]


def _ratio_title(places: Places, ratio: Floats) -> str:
    low, high = float(ratio[places].min()), float(ratio[places].max())
    if max(abs(low), abs(high)) > ONE_SIDED:
        return f"one of {len(places)} reports that hardly come under one of the two"
    return f"one of {len(places)} reports whose log-ratio lies from {low:.4g} to {high:.4g}"


def _impossible(shares: Floats) -> list[Event]:
    places = np.flatnonzero(shares == 0)
    return [Event("a report that the table says is impossible", places)] if places.size else []


def _log_ratio(first: Floats, second: Floats) -> Floats:
    tiny = 1e-300
    return np.log(np.maximum(first, tiny)) - np.log(np.maximum(second, tiny))


def _cut(order: Places, mass: Floats, groups: int) -> list[Places]:
    """Cut an order of places into groups of about equal mass."""
    label = np.minimum((np.cumsum(mass[order]) * groups).astype(np.int64), groups - 1)
    return [order[label == group] for group in np.unique(label)]
