"""What draws prove about ε: a lower bound, from how often an event comes under one input and under another.

If an event has probability p under one input and p' under another, ε is at least ln((p-δ)/p'). With Clopper-Pearson
intervals for both, the bound holds with 99.9%, over all events together (Bonferroni: each interval has 0.1% over their
number). A bound above the claim is drawn again, with fresh randomness, and counts only if it is above it again: a
correct mechanism fails with a probability of at most one in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import BOUND, BrokenError, Leak, Rank, Step, batch, checked_reports, show
from graphveil.audit.inputs import misfits, valid_inputs
from graphveil.audit.interval import clopper_pearsons
from graphveil.audit.joint import distinct
from graphveil.audit.trust import Stated, compared_pairs
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Estimate, Mechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

ERROR = 1e-3
# Mechanisms of full size, and inputs that are not the most separated ones, get this part of the draws.
FEWER = 10
# Events that are chosen on each end, if they were seen this often among the draws that choose them.
CHOSEN, OFTEN = 16, 20
# Where the axis from one input's reports to the other's is cut.
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
# More different codes than this are not counted one by one.
MAX_CELLS = 1 << 24
# Values of a block of draws, estimates to choose a direction from, and values in all; long rows get fewer draws.
BLOCK_VALUES, EXAMPLES, MAX_VALUES, MIN_DRAWS = 1 << 18, 1000, 10**8, 2000

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Bound:
    """ε is at least this much, by an event that came so often under the two inputs."""

    epsilon: float
    event: str
    inputs: tuple[Any, Any]
    counts: tuple[int, int]
    draws: int

    def leak(self, claimed: float, error: float = ERROR) -> str:
        """The finding, if the bound is above the claim."""
        return (
            f"reports tell more than claimed: {self.event} came {self.counts[0]:,} times in {self.draws:,} under "
            f"{show(self.inputs[0])} and {self.counts[1]:,} times under {show(self.inputs[1])}, so epsilon is at least "
            f"{self.epsilon:.6g} with {100 * (1 - error):.6g}%, claimed {claimed:g}"
        )


def best_bound(
    counts: Counts,
    title: Callable[[int], str],
    inputs: tuple[Any, Any],
    draws: int,
    delta: float,
    error: float = ERROR,
) -> Bound:
    """The largest bound from counts of some events (one column each) under two inputs (one row each)."""
    size = counts.shape[1]
    # An event that hardly ever fails reveals by its failing.
    both = np.concatenate([counts, draws - counts], axis=1)
    low, high = clopper_pearsons(both, draws, 1 - error / both.size)
    best = Bound(0.0, "no event", inputs, (0, 0), draws)
    for one, other in ((0, 1), (1, 0)):
        gaps = np.maximum(low[one] - delta, 0.0) / high[other]
        place = int(gaps.argmax())
        if gaps[place] > math.exp(best.epsilon):
            event = title(place % size) if place < size else f"anything but {title(place % size)}"
            seen = int(both[one, place]), int(both[other, place])
            best = Bound(math.log(gaps[place]), event, (inputs[one], inputs[other]), seen, draws)
    return best


def bound_step(
    build: Callable[[], Mechanism], draws: int, words: Words, public: PublicRange | None = None
) -> Step:
    """A lower bound of ε for the mechanism as it is used, believing no table; it must not exceed the claim.

    Where the exact ε is known to be above the claim, a step before has said so, and only more than that is news.
    """
    mechanism = build()
    claimed = mechanism.claim.epsilon
    known = max(claimed, Stated.of(mechanism).loss.epsilon)
    draws = max(MIN_DRAWS, min(draws, MAX_VALUES // mechanism.row_length))
    try:
        best = lower_bound(mechanism, draws, words, public)
        if best.epsilon > known:
            again = lower_bound(mechanism, draws, words, public)
            best = min(best, again, key=lambda bound: bound.epsilon)
    except BrokenError as error:
        return Step(BOUND, "it could not be found", (str(error),), failed=True)
    seen = (
        f"{draws:,} whole reports under each of two inputs: epsilon is at least {best.epsilon:.6g} with {1 - ERROR:.1%}, "
        f"claimed {claimed:g}"
    )
    return Step(BOUND, seen, (Leak(best.leak(claimed), Rank.BOUND),) if best.epsilon > known else ())


def lower_bound(mechanism: Mechanism, draws: int, words: Words, public: PublicRange | None = None) -> Bound:
    """Choose two inputs and events on some draws, and bound ε by them on fresh ones."""
    own = list(valid_inputs(mechanism, public).values())
    own += [] if mechanism.subject == "links" else list(misfits(mechanism, public).values())
    inputs = distinct([*mechanism.extremes(), *own])
    pilots = [Tally(mechanism) for _ in inputs]
    for pilot, private in zip(pilots, inputs, strict=True):
        pilot.draw(private, max(draws // FEWER, EXAMPLES), words)
    one, other = most_separated([pilot.counts() for pilot in pilots], compared_pairs(mechanism, inputs))
    direction = pilots[one].total - pilots[other].total
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    projected = np.concatenate([along(example, direction) for pilot in pilots for example in pilot.examples])
    chosen = _most_different(pilots[one].counts(), pilots[other].counts())
    tallies = [Tally(mechanism, direction, np.quantile(projected, QUANTILES)) for _ in range(2)]
    for tally, index in zip(tallies, (one, other), strict=True):
        tally.draw(inputs[index], draws, words)
    first = len(pilots[0].counts())
    chosen += range(first, first + len(QUANTILES))
    return best_bound(
        np.array([tally.counts()[chosen] for tally in tallies]),
        lambda place: tallies[0].title(chosen[place]),
        (inputs[one], inputs[other]),
        draws,
        mechanism.claim.delta,
    )


def most_separated(distributions: Sequence[NDArray[Any]], pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """Of these pairs the two inputs whose reports differ most often (in total variation)."""
    if not pairs:
        return 0, 0
    return max(pairs, key=lambda pair: float(np.abs(distributions[pair[0]] - distributions[pair[1]]).sum()))


def _most_different(first: Counts, second: Counts) -> list[int]:
    ratio = np.log(first + 0.5) - np.log(second + 0.5)
    order = np.argsort(-ratio, kind="stable")
    often = order[np.maximum(first, second)[order] >= OFTEN]
    return sorted({*often[:CHOSEN].tolist(), *often[-CHOSEN:].tolist()})


class Tally:
    """Counts of simple events in many reports of one input.

    Each code of each value and each value's being asked (where they are not too many), and how far a report's estimate
    points along a direction. Without a direction it keeps some estimates as examples, to choose one from.
    """

    def __init__(
        self, mechanism: Mechanism, direction: Floats | None = None, thresholds: Floats | None = None
    ) -> None:
        self.mechanism, self.direction = mechanism, direction
        # What decodes by all reports together is to decode each by itself.
        self.decoder = mechanism.settled()
        self.thresholds = np.zeros(0) if thresholds is None else thresholds
        values = mechanism.places if mechanism.names_dimensions else mechanism.report_length
        values = mechanism.alphabet if mechanism.uneven else values
        # Where reports are uneven, a code says no more than that it is there.
        self.alphabet = 1 if mechanism.uneven else mechanism.alphabet
        self.values = values if values * self.alphabet <= MAX_CELLS else 0
        self.codes = np.zeros(self.values * self.alphabet, dtype=np.int64)
        self.above = np.zeros(len(self.thresholds), dtype=np.int64)
        self.total = np.zeros(mechanism.dimensions)
        self.examples: list[Estimate] = []

    def draw(self, private: Any, draws: int, words: Words) -> None:
        """Draw reports, in blocks so that memory is bounded."""
        mechanism = self.mechanism
        block = max(1, BLOCK_VALUES // max(mechanism.row_length, mechanism.report_length))
        for start in range(0, draws, block):
            users = min(block, draws - start)
            reports = checked_reports(mechanism, batch(private, users), words)
            if self.values:
                self.codes += np.bincount(self._cells(reports), minlength=len(self.codes))
            estimate = self.decoder.estimate(reports)
            if self.direction is not None:
                reached = along(estimate, self.direction)
                self.above += (reached > self.thresholds[:, None]).sum(axis=1)
                continue
            self.total += sums(estimate)
            if sum(example.shape[0] for example in self.examples) < EXAMPLES:
                self.examples.append(estimate)

    def _cells(self, reports: Reports) -> NDArray[np.int64]:
        """Which event each code of some reports is."""
        if self.mechanism.uneven:
            return reports.codes.astype(np.int64)
        places = reports.dims
        if places is None:
            places = np.tile(np.arange(self.mechanism.report_length, dtype=np.int32), reports.users)
        cells: NDArray[np.int64] = places * np.int64(self.alphabet) + reports.codes
        return cells

    def counts(self) -> Counts:
        """All counts in one row."""
        asked = self.codes.reshape(self.values, self.alphabet).sum(axis=1)
        return np.concatenate([self.codes, asked, self.above])

    def title(self, place: int) -> str:
        """An event in words."""
        alphabet = self.alphabet
        if place < len(self.codes):
            return f"code {place % alphabet} for value {place // alphabet}"
        place -= len(self.codes)
        if place < self.values:
            return f"a report about value {place}"
        return f"an estimate beyond {self.thresholds[place - self.values]:.4g} towards the first"


def sums(estimate: Estimate) -> Floats:
    """The sum of all estimates, offset aside."""
    if estimate.indices is None:
        return np.asarray(estimate.values.reshape(estimate.shape).sum(axis=0))
    added = np.bincount(estimate.indices, weights=estimate.values, minlength=estimate.shape[1])
    return added.astype(np.float64)


def along(estimate: Estimate, direction: Floats) -> Floats:
    """How far each estimate points along a direction, offset aside."""
    if estimate.indices is None:
        return np.asarray(estimate.values.reshape(estimate.shape) @ direction)
    owners = np.repeat(np.arange(estimate.shape[0]), np.diff(estimate.indptr))
    parts = estimate.values * direction[estimate.indices]
    return np.bincount(owners, weights=parts, minlength=estimate.shape[0]).astype(np.float64)
