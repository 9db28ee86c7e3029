"""Whole reports, enumerated: how likely each one is under each of some private inputs, as integers.

This looks at a mechanism as a whole, the choice of dimensions included, and so shows whether the budgets of its answers
add up to what it claims.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Loss, exp_below
from graphveil.channels.words import Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.privacy.candidate import Candidate
from graphveil.privacy.findings import (
    JOINT,
    BrokenError,
    Step,
    batch,
    checked_reports,
    power,
    rounded_up,
    show,
)

# Users a block of draws, and entries of the table that finds a report's place.
DRAW_BLOCK, MAX_LOOKUP = 1 << 16, 1 << 24
# Logarithms of shares are off by less than this; what is closer is compared in integers.
NEAR = 1e-12
# Labels or levels that are looked at besides the two most separated.
MORE_SYMBOLS = 5
# Integers of so many bits fit into a float.
FLOAT_BITS = 1000

_log = np.frompyfunc(lambda count: math.log(count) if count else -math.inf, 1, 1)


@dataclass(frozen=True)
class WorstReport:
    """The whole report that tells two inputs apart best; ratio None is infinite."""

    place: int
    likelier: int
    rarer: int
    ratio: Fraction | None

    @property
    def loss(self) -> Loss:
        """What that report reveals."""
        return Loss.of(self.ratio)


@dataclass(frozen=True, eq=False)
class Joint:
    """A small mechanism with the exact distribution of its whole reports under each input."""

    mechanism: Mechanism
    inputs: list[Any]
    counts: list[NDArray[np.object_]]
    total: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> Joint:
        """Enumerate the mechanism; an InputError where that is not possible."""
        mechanism.possible_reports()
        inputs = distinct(mechanism.extremes())
        found = [mechanism.joint_counts(private) for private in inputs]
        for private in between(mechanism, inputs):
            try:
                found.append(mechanism.joint_counts(private))
            except InputError:
                continue  # between two input symbols: its reports are not enumerated
            inputs.append(private)
        for private, (counts, total) in zip(inputs, found, strict=True):
            if sum(counts.tolist()) != total or min(counts.tolist()) < 0:
                raise BrokenError(f"the probabilities of all reports under {show(private)} do not sum to 1")
        common = math.lcm(*(total for _, total in found))
        scaled = [counts if total == common else counts * (common // total) for counts, total in found]
        return cls(mechanism, inputs, scaled, common)

    @cached_property
    def worst(self) -> WorstReport:
        """The largest ratio over all whole reports and all pairs of inputs; exact."""
        best = WorstReport(0, 0, 0, Fraction(1))
        for likelier, rarer in permutations(range(len(self.inputs)), 2):
            found = self._worse(likelier, rarer, best)
            if found.ratio is None:
                return found
            best = found
        return best

    def _worse(self, likelier: int, rarer: int, best: WorstReport) -> WorstReport:
        """The most revealing report for these two inputs, or the best so far where that reveals more."""
        log, other = self._logs[likelier], self._logs[rarer]
        possible = np.flatnonzero(~np.isneginf(log))
        certain = possible[np.isneginf(other[possible])]
        if certain.size:
            return WorstReport(int(certain[np.argmax(log[certain])]), likelier, rarer, None)
        gaps = log[possible] - other[possible]
        if best.ratio is not None and gaps.max() < best.loss.epsilon - NEAR:
            return best
        near = possible[gaps >= gaps.max() - NEAR].tolist()
        often, rarely = self.counts[likelier], self.counts[rarer]
        top = near[0]
        for place in near:
            if often[place] * rarely[top] > often[top] * rarely[place]:
                top = place
        ratio = Fraction(often[top], rarely[top])
        if best.ratio is not None and ratio <= best.ratio:
            return best
        return WorstReport(top, likelier, rarer, ratio)

    @cached_property
    def _logs(self) -> list[NDArray[np.float64]]:
        """Logarithms of the counts, up to a common constant; minus infinity only where a count is 0."""
        if self.total.bit_length() > FLOAT_BITS:
            return [np.asarray(_log(counts), dtype=np.float64) for counts in self.counts]
        with np.errstate(divide="ignore"):
            return [np.log(shares) for shares in self.shares]

    def delta_at(self, epsilon: float) -> tuple[Fraction, tuple[int, int]]:
        """The exact δ at ε over whole reports (hockey-stick divergence), and the two inputs."""
        bound = exp_below(Fraction(epsilon)) if epsilon > 0 else Fraction(1)
        top, bottom = bound.numerator, bound.denominator
        best, pair = Fraction(0), (0, 0)
        for likelier, rarer in permutations(range(len(self.inputs)), 2):
            gaps = self.counts[likelier] * bottom - self.counts[rarer] * top
            gained = Fraction(sum(gap for gap in gaps.tolist() if gap > 0), bottom * self.total)
            if gained > best:
                best, pair = gained, (likelier, rarer)
        return best, pair

    @cached_property
    def shares(self) -> list[NDArray[np.float64]]:
        """The distribution of whole reports under each input, as floats for statistics."""
        # An integer that is too long for a float still has a share.
        shift = max(self.total.bit_length() - FLOAT_BITS, 0)
        whole = float(self.total >> shift)
        rows = self.counts if shift == 0 else [counts >> shift for counts in self.counts]
        return [np.asarray(row, dtype=np.float64) / whole for row in rows]

    @cached_property
    def _lookup(self) -> NDArray[np.int64]:
        keys = self._keys(self.mechanism.possible_reports())
        if len(keys) != len(self.counts[0]):
            raise BrokenError(
                f"{len(keys)} reports are possible, but {len(self.counts[0])} have a probability"
            )
        lookup = np.full(self._base**self.mechanism.report_length, -1, dtype=np.int64)
        lookup[keys] = np.arange(len(keys))
        return lookup

    @property
    def _base(self) -> int:
        mechanism = self.mechanism
        return mechanism.alphabet * (mechanism.dimensions if mechanism.names_dimensions else 1)

    def _keys(self, reports: Any) -> NDArray[np.int64]:
        length = self.mechanism.report_length
        if self._base**length > MAX_LOOKUP:
            raise InputError(f"{self.mechanism.name} has too many different reports to count")
        values = reports.codes.astype(np.int64)
        if reports.dims is not None:
            values += reports.dims.astype(np.int64) * self.mechanism.alphabet
        keys: NDArray[np.int64] = values.reshape(-1, length) @ self._base ** np.arange(length)
        return keys

    def places(self, private: NDArray[Any], words: Words | None) -> NDArray[np.int64]:
        """Let these users report, and say which of the possible reports each has sent."""
        places = self._lookup[self._keys(checked_reports(self.mechanism, private, words))]
        if places.size and int(places.min()) < 0:
            raise BrokenError("a report was drawn that is not among the possible ones")
        return places

    def draw(self, index: int, draws: int, words: Words) -> NDArray[np.int64]:
        """How often each possible report is drawn under an input; in blocks, so that memory is bounded."""
        counts = np.zeros(len(self.counts[0]), dtype=np.int64)
        for start in range(0, draws, DRAW_BLOCK):
            users = batch(self.inputs[index], min(DRAW_BLOCK, draws - start))
            counts += np.bincount(self.places(users, words), minlength=len(counts))
        return counts


def distinct(inputs: list[Any]) -> list[Any]:
    """Each input once."""
    kept: list[Any] = []
    for private in inputs:
        if not any(np.array_equal(np.asarray(private), np.asarray(other)) for other in kept):
            kept.append(private)
    return kept


def between(mechanism: Mechanism, inputs: list[Any]) -> list[Any]:
    """Inputs besides the extremes: two extremes in turn and the middle of the range; or some more symbols."""
    if isinstance(mechanism, SymbolMechanism):
        symbols = np.linspace(0, mechanism.channel.input_count - 1, MORE_SYMBOLS).astype(int)
        return distinct([*inputs, *(mechanism.first + symbols).tolist()])[len(inputs) :]
    if mechanism.subject != "features" or len(inputs) < 2:
        return []
    rows = [np.where(np.arange(len(inputs[0])) % 2, inputs[0], inputs[1])]
    if hasattr(mechanism, "public"):
        rows.append(np.full(len(inputs[0]), float(mechanism.public.centre)))
    return [row for row in distinct([*inputs, *rows])[len(inputs) :]]


def enumerate_smaller(candidate: Candidate) -> Joint | None:
    """The candidate enumerated at the first size that allows it; None where none does."""
    for small in candidate.smaller():
        try:
            joint = Joint.of(small)
            _ = joint._lookup
        except InputError:
            continue
        return joint
    return None


def joint_step(joint: Joint | None, finite: bool) -> Step:
    """Whether the whole mechanism keeps its claim when all its reports are enumerated."""
    if joint is None:
        reason = "too many different reports" if finite else "not finite, a documented exception"
        return Step(JOINT, f"left out ({reason}): the exact epsilon rests on the step before", skipped=True)
    mechanism, worst = joint.mechanism, joint.worst
    size = describe_size(mechanism)
    told = (
        f"{size}, {len(joint.counts[0]):,} different reports, {len(joint.inputs)} inputs: "
        if joint.counts
        else ""
    )
    claim = mechanism.claim
    if claim.delta > 0:
        delta, pair = joint.delta_at(claim.epsilon)
        told += f"delta at epsilon {claim.epsilon:g} is {float(delta):.6g}, claimed {claim.delta:g}"
        if delta <= Fraction(claim.delta):
            return Step(JOINT, told, tuple(_stated(joint)))
        one, other = (show(joint.inputs[index]) for index in pair)
        leak = (
            f"with {size}, whole reports tell {one} from {other} with delta {float(delta):.6g} at epsilon "
            f"{claim.epsilon:g}, claimed {claim.delta:g}"
        )
        return Step(JOINT, told, (leak,))
    told += f"the largest ratio is {power(worst.loss.epsilon)}, claimed e^{claim.epsilon:g}"
    if not worst.loss.exceeds(claim.epsilon):
        return Step(JOINT, told, tuple(_stated(joint)))
    return Step(JOINT, told, (f"with {size}, {describe_worst(joint)}", *_stated(joint)))


def _stated(joint: Joint) -> list[str]:
    """Whether the loss that the mechanism states covers what its reports show."""
    stated, seen = joint.mechanism.loss, joint.worst.loss
    if joint.mechanism.claim.delta > 0 or stated.terms is None:
        return []
    covered = seen.terms is not None and not seen.exceeds(Fraction(stated.epsilon))
    if covered:
        return []
    return [
        (
            f"the mechanism states an exact epsilon of {rounded_up(stated.epsilon)}, its enumerated reports have "
            f"{rounded_up(seen.epsilon)}: the stated loss is wrong"
        )
    ]


def describe_worst(joint: Joint) -> str:
    """The most revealing report in words: which report, which two inputs, by how much."""
    worst, claim = joint.worst, joint.mechanism.claim
    report = joint.mechanism.describe_outcome(worst.place)
    one, other = show(joint.inputs[worst.likelier]), show(joint.inputs[worst.rarer])
    often = Fraction(joint.counts[worst.likelier][worst.place], joint.total)
    if worst.ratio is None:
        return (
            f"the report ({report}) has probability {float(often):.6g} under {one} and 0 under {other}: "
            "whoever sees it knows which it was (epsilon is infinite)"
        )
    return (
        f"the report ({report}) is {power(worst.loss.epsilon)} times as likely under {one} as under {other}; "
        f"the claim allows {power(claim.epsilon)}"
    )


def describe_size(mechanism: Mechanism) -> str:
    """How much of a row is reported, in words."""
    if mechanism.subject != "features":
        return f"one {mechanism.subject}"
    if mechanism.names_dimensions:
        return f"{mechanism.report_length} of {mechanism.dimensions} values"
    if mechanism.report_length == mechanism.dimensions:
        return f"all {mechanism.dimensions} values"
    return f"a row of {mechanism.dimensions} values"
