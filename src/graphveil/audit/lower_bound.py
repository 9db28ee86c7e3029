"""Lower bounds on ε from draws: from how often an event comes under one input and under another.

If an event has probability p under one input and p' under another, ε is at least ln((p-δ)/p'). With Clopper-Pearson
intervals for both, the bound holds with 99.9%, over all events together (Bonferroni: each interval has 0.1% over their
number). A bound above the claim is drawn again, with fresh randomness, and counts only if it is above it again: a
correct mechanism fails with a probability of at most one in a million.

Each answer may be drawn right and a report of hundreds of them still tell too much, as with noise that all of them share. So
the codes of a report are also added up with weights, chosen on draws of their own, and the sum is counted beyond some thresholds
under two inputs (`CodeContrast`): the ends of the range, and rows whose halves are at opposite ends, where shared noise cancels out.

A Clopper-Pearson interval at confidence 1-α ends where one more extreme count would have a probability of α/2. These tails of the
binomial distribution are incomplete beta functions, computed here by their continued fraction (Numerical Recipes, 6.4),
so that an audit needs no more than numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.audit.candidate import CheckedLoss, compared_pairs, decoder, is_compared
from graphveil.audit.findings import BrokenError, Leak, LeakError, Rank, Step, Title, show
from graphveil.audit.reports import (
    Floats,
    Numbers,
    Version,
    batch,
    checked_reports,
    code_owners,
    code_places,
    distinct,
    place_count,
)
from graphveil.channels.sampling import SystemWords, Words
from graphveil.mechanisms.base import Estimate, Mechanism
from graphveil.mechanisms.reports import Reports

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


@dataclass(frozen=True)
class LowerBound:
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
    counts: Numbers,
    title: Callable[[int], str],
    inputs: tuple[Any, Any],
    draws: int,
    delta: float,
    error: float = ERROR,
) -> LowerBound:
    """Return the largest bound from counts of some events under two inputs.

    Parameters
    ----------
    counts
        One row for each of the two inputs, one column for each event.
    title
        What an event is called, by its column.
    inputs
        The two inputs.
    draws
        How many reports are drawn under each input.
    delta
        The δ that is claimed.
    error
        How likely the bound may be wrong.
    """
    size = counts.shape[1]
    # An event that hardly ever fails reveals by its failing.
    both = np.concatenate([counts, draws - counts], axis=1)
    low, high = clopper_pearsons(both, draws, 1 - error / both.size)
    best = LowerBound(0.0, "no event", inputs, (0, 0), draws)
    for one, other in ((0, 1), (1, 0)):
        gaps = np.maximum(low[one] - delta, 0.0) / high[other]
        place = int(gaps.argmax())
        if gaps[place] > math.exp(best.epsilon):
            event = title(place % size) if place < size else f"anything but {title(place % size)}"
            seen = int(both[one, place]), int(both[other, place])
            best = LowerBound(math.log(gaps[place]), event, (inputs[one], inputs[other]), seen, draws)
    return best


def confirm(first: LowerBound, known: float, draw_again: Callable[[], LowerBound]) -> LowerBound:
    """Return a bound that is not above what is known; else the smaller of it and one from fresh draws.

    Parameters
    ----------
    first
        The bound to be confirmed.
    known
        The ε that is claimed, or that is known to be lost.
    draw_again
        Draws afresh.
    """
    return first if first.epsilon <= known else min(first, draw_again(), key=lambda bound: bound.epsilon)


def bound_step(version: Version, draws: int) -> Step:
    """Bound the ε of a mechanism from below by so many reports under each input, believing no table; it must not exceed the claim.

    Where the exact ε is known to be above the claim, a step before has said so, and only more than that is news.
    """
    mechanism = version.mechanism
    claimed, known = mechanism.claim.epsilon, known_epsilon(mechanism)
    draws = max(MIN_DRAWS, min(draws, MAX_VALUES // mechanism.shape.row_length))
    try:
        best = confirm(lower_bound(version, draws), known, lambda: lower_bound(version, draws))
    except BrokenError as error:
        return Step(Title.BOUND, "it could not be found", (str(error),), failed=True)
    seen = (
        f"{draws:,} whole reports under each of two inputs: epsilon is at least {best.epsilon:.6g} with {1 - ERROR:.1%}, "
        f"claimed {claimed:g}"
    )
    return Step(Title.BOUND, seen, (Leak(best.leak(claimed), Rank.BOUND),) if best.epsilon > known else ())


def known_epsilon(mechanism: Mechanism) -> float:
    """Return the claim, or the exact ε where that is above it."""
    return max(mechanism.claim.epsilon, CheckedLoss.of(mechanism).loss.epsilon)


def lower_bound(version: Version, draws: int) -> LowerBound:
    """Choose two inputs and events on some draws, and bound ε by them on so many fresh ones."""
    mechanism = version.mechanism
    own = [*version.valid.values(), *(() if mechanism.subject == "links" else version.invalid.values())]
    inputs = distinct([*mechanism.extremes(), *own])
    pilots = [EventTally(mechanism) for _ in inputs]
    for pilot, private in zip(pilots, inputs, strict=True):
        pilot.draw(private, max(draws // FEWER, EXAMPLES), version.words)
    one, other = most_separated([pilot.counts() for pilot in pilots], compared_pairs(mechanism, inputs))
    direction = pilots[one].total - pilots[other].total
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    projected = np.concatenate(
        [project(example, direction) for pilot in pilots for example in pilot.examples]
    )
    first, second = pilots[one].counts(), pilots[other].counts()
    order = np.argsort(-(np.log(first + 0.5) - np.log(second + 0.5)), kind="stable")
    often = order[np.maximum(first, second)[order] >= OFTEN].tolist()
    chosen = sorted({*often[:CHOSEN], *often[-CHOSEN:]})
    chosen += range(len(first), len(first) + len(QUANTILES))
    tallies = [EventTally(mechanism, direction, np.quantile(projected, QUANTILES)) for _ in range(2)]
    for tally, index in zip(tallies, (one, other), strict=True):
        tally.draw(inputs[index], draws, version.words)
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


class EventTally:
    """Numbers of simple events in many reports of one input.

    Each code of each value and each value's being asked (where they are not too many), and how far a report's estimate
    points along a direction. Without a direction it keeps some estimates as examples, to choose one from.
    """

    def __init__(
        self, mechanism: Mechanism, direction: Floats | None = None, thresholds: Floats | None = None
    ) -> None:
        self.mechanism, self.direction = mechanism, direction
        # What decodes by all reports together is to decode each by itself.
        self.decoder = decoder(mechanism)
        self.thresholds = np.zeros(0) if thresholds is None else thresholds
        values = mechanism.shape.alphabet if mechanism.shape.uneven else place_count(mechanism)
        # Where reports are uneven, a code says no more than that it is there.
        self.alphabet = 1 if mechanism.shape.uneven else mechanism.shape.alphabet
        self.values = values if values * self.alphabet <= MAX_CELLS else 0
        self.codes = np.zeros(self.values * self.alphabet, dtype=np.int64)
        self.above = np.zeros(len(self.thresholds), dtype=np.int64)
        self.total = np.zeros(mechanism.shape.dimensions)
        self.examples: list[Estimate] = []

    def draw(self, private: Any, draws: int, words: Words | None) -> None:
        """Draw reports and count their events, in blocks so that memory is bounded.

        Parameters
        ----------
        private
            The input of all users.
        draws
            The number of reports to draw.
        words
            The source of random words; None is a client's default.
        """
        mechanism = self.mechanism
        block = max(1, BLOCK_VALUES // max(mechanism.shape.row_length, mechanism.shape.length))
        for start in range(0, draws, block):
            users = min(block, draws - start)
            reports = checked_reports(mechanism, batch(private, users), words)
            if self.values:
                places = 0 if mechanism.shape.uneven else code_places(reports) * np.int64(self.alphabet)
                self.codes += np.bincount(places + reports.codes.astype(np.int64), minlength=len(self.codes))
            estimate = self.decoder.estimate(reports)
            if self.direction is not None:
                reached = project(estimate, self.direction)
                self.above += (reached > self.thresholds[:, None]).sum(axis=1)
                continue
            self.total += sum_estimates(estimate)
            if sum(example.shape[0] for example in self.examples) < EXAMPLES:
                self.examples.append(estimate)

    def counts(self) -> Numbers:
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


def sum_estimates(estimate: Estimate) -> Floats:
    """The sum of all estimates, offset aside."""
    if estimate.indices is None:
        return np.asarray(estimate.values.reshape(estimate.shape).sum(axis=0))
    added = np.bincount(estimate.indices, weights=estimate.values, minlength=estimate.shape[1])
    return added.astype(np.float64)


def project(estimate: Estimate, direction: Floats) -> Floats:
    """Return the projection of each estimate on a direction, without the offset, (users,) float64."""
    if estimate.indices is None:
        return np.asarray(estimate.values.reshape(estimate.shape) @ direction)
    owners = np.repeat(np.arange(estimate.shape[0]), np.diff(estimate.indptr))
    parts = estimate.values * direction[estimate.indices]
    return np.bincount(owners, weights=parts, minlength=estimate.shape[0]).astype(np.float64)


# A bound above the claim is drawn again: both together are wrong with the square of this, for each pair of inputs.
CONTRAST_ERROR = 1e-5
# Draws under each input, fewer where rows are long; a part of them chooses weights.
CONTRAST_DRAWS, MIN_CONTRAST_DRAWS, CONTRAST_VALUES, PILOT_PART = 4000, 256, 1 << 18, 4


def check_contrast(version: Version) -> None:
    """Check that weighted codes of whole reports tell no more than is claimed."""
    mechanism, known = version.mechanism, known_epsilon(version.mechanism)
    most = CONTRAST_VALUES // max(mechanism.shape.row_length, mechanism.shape.length)
    draws = max(MIN_CONTRAST_DRAWS, min(CONTRAST_DRAWS, most))
    for one, other in opposite_inputs(version):
        contrast = CodeContrast.of(version, one, other, max(draws // PILOT_PART, 64))
        if contrast.bound(draws).epsilon > known and (again := contrast.bound(draws)).epsilon > known:
            raise LeakError(again.leak(mechanism.claim.epsilon, CONTRAST_ERROR), Rank.BOUND)


def opposite_inputs(version: Version) -> list[tuple[Any, Any]]:
    """Return pairs of inputs that are as different as a claim is about; half of a row is chosen by random words."""
    mechanism, inputs = version.mechanism, list(version.valid.values())
    # A single level or class tells nothing.
    pairs = [(inputs[0], inputs[1])] if len(inputs) > 1 else []
    if mechanism.subject == "links":
        pairs = [(inputs[-2], inputs[-1])]
    elif mechanism.subject == "features" and mechanism.shape.row_length > 1:
        low, high = np.asarray(inputs[0]), np.asarray(inputs[1])
        words = version.words or SystemWords()
        half = np.random.default_rng(words.take(4)).permutation(len(low)) < len(low) // 2
        pairs.append((np.where(half, low, high), np.where(half, high, low)))
    return [pair for pair in pairs if is_compared(mechanism, *pair)]


@dataclass(frozen=True, eq=False)
class CodeContrast:
    """Weighted sums of the codes of a report that tell two inputs apart (one row of ``weights`` each), and where they are cut."""

    version: Version
    inputs: tuple[Any, Any]
    weights: Floats
    centre: float
    cuts: Floats

    @classmethod
    def of(cls, version: Version, one: Any, other: Any, draws: int) -> CodeContrast:
        """Choose weights by how codes differ in the mean of a few reports, and by the order of values.

        Parameters
        ----------
        version
            The mechanism in the size to check.
        one, other
            The two inputs.
        draws
            The number of reports to draw under each.
        """
        mechanism, drawn = version.mechanism, [version.draw(row, draws) for row in (one, other)]
        size = mechanism.shape.alphabet if mechanism.shape.uneven else place_count(mechanism)
        centre = (
            0.0 if mechanism.shape.uneven else float(np.mean([reports.codes.mean() for reports in drawn]))
        )
        sums = [
            np.bincount(places, weights=values, minlength=size)
            for _, places, values in (_coded(reports, centre) for reports in drawn)
        ]
        weights = [sums[0] - sums[1]]
        if np.ndim(one) == 1 and len(one) == len(weights[0]):
            weights.append(np.sign(np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)))
        contrast = cls(version, (one, other), np.stack(weights), centre, np.zeros(0))
        scores = np.concatenate([contrast.scores(reports) for reports in drawn], axis=1)
        return replace(contrast, cuts=np.quantile(scores, QUANTILES, axis=1))

    def scores(self, reports: Reports) -> Floats:
        """The weighted sums of each user's report."""
        owners, places, values = _coded(reports, self.centre)
        sums = [np.bincount(owners, values * weights[places], reports.users) for weights in self.weights]
        return np.stack(sums)

    def bound(self, draws: int) -> LowerBound:
        """Return the lower bound on ε that fresh reports prove."""
        counts = []
        for row in self.inputs:
            scores = self.scores(self.version.draw(row, draws))
            counts.append((scores > self.cuts[:, :, None]).sum(axis=2).ravel())
        titles = [
            f"a weighted sum of all codes above its {quantile:.0%} point"
            for quantile in QUANTILES
            for _ in self.weights
        ]
        delta = self.version.mechanism.claim.delta
        return best_bound(np.array(counts), titles.__getitem__, self.inputs, draws, delta, CONTRAST_ERROR)


def _coded(reports: Reports, centre: float) -> tuple[NDArray[np.int64], NDArray[Any], Floats]:
    """Of every code in some reports the user, the place and the value; where reports are uneven a code is a place."""
    owners = code_owners(reports)
    if reports.mechanism.shape.uneven:
        return owners, reports.codes.astype(np.int64), np.ones(len(reports.codes))
    return owners, code_places(reports), reports.codes.astype(np.float64) - centre


# The fraction converges in about √n steps next to the mean, faster elsewhere.
MAX_STEPS = 200_000
TINY, PRECISION = 1e-300, 1e-12
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def clopper_pearson(successes: int, draws: int, confidence: float) -> tuple[float, float]:
    """Return the two-sided confidence interval of a probability after ``successes`` of ``draws``.

    >>> low, high = clopper_pearson(0, 100, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    low, high = clopper_pearsons([successes], draws, confidence)
    return float(low[0]), float(high[0])


def clopper_pearsons(successes: ArrayLike, draws: int, confidence: float) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of the confidence intervals of many counts.

    Parameters
    ----------
    successes
        The counts, of any shape.
    draws
        The number of draws behind each count.
    confidence
        The confidence of each two-sided interval, such as 0.95.
    """
    count = np.asarray(successes, dtype=np.float64)
    tail = (1 - confidence) / 2
    # Seen from the failures, an upper end is a lower end.
    return _lower_ends(count, draws, tail), 1 - _lower_ends(draws - count, draws, tail)


def _lower_ends(count: Floats, draws: int, tail: float) -> Floats:
    """The probabilities at which at least so many successes are as likely as the given tail, by bisection."""
    share = count / draws
    # The answer lies some standard deviations below the share; the bracket grows until it surely does.
    width = 4 * np.sqrt(share * (1 - share) / draws) + 4 / draws
    high, low = share.copy(), np.maximum(share - width, 0.0)
    while (beyond := (low > 0) & (at_least(count, draws, low) > tail)).any():
        high[beyond] = low[beyond]
        low[beyond] = np.maximum(low[beyond] - width[beyond], 0.0)
    for _ in range(100):
        middle = (low + high) / 2
        if (high - low <= 1e-6 * np.minimum(width, high)).all():
            break
        likely = at_least(count, draws, middle) > tail
        high, low = np.where(likely, middle, high), np.where(likely, low, middle)
    # The low end errs to the outside. No success at all says nothing.
    return np.where(count == 0, 0.0, low)


def unlikely(successes: ArrayLike, draws: int, probabilities: ArrayLike, error: float) -> NDArray[np.bool_]:
    """Return which probabilities lie outside the interval of their count at confidence 1-``error``.

    Parameters
    ----------
    successes
        The counts.
    draws
        The number of draws behind each count.
    probabilities
        The probabilities to compare them with, of the same shape as the counts.
    error
        The probability that an interval misses its true value.

    >>> unlikely([480, 700], 1000, [0.5, 0.5], 0.001).tolist()
    [False, True]
    """
    count = np.asarray(successes, dtype=np.float64)
    chance = np.asarray(probabilities, dtype=np.float64)
    return np.minimum(at_least(count, draws, chance), at_most(count, draws, chance)) < error / 2


def at_least(successes: ArrayLike, draws: int, probability: ArrayLike) -> Floats:
    """Return P[X ≥ successes] for X binomial: I_p(k, n-k+1)."""
    count, chance = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    )
    result = np.ones(count.shape)
    some = count > 0
    result[some] = incomplete_beta(count[some], draws - count[some] + 1, chance[some])
    return result


def at_most(successes: ArrayLike, draws: int, probability: ArrayLike) -> Floats:
    """Return P[X ≤ successes] for X binomial."""
    return at_least(draws - np.asarray(successes, dtype=np.float64), draws, 1 - np.asarray(probability))


def log_tail(successes: ArrayLike, draws: ArrayLike, probability: ArrayLike) -> Floats:
    """Return Chernoff's bound on the log-probability of a count so far from its mean: -n·KL(k/n, p).

    It is one-sided, and holds for binomial counts and for hypergeometric ones of the same mean (Hoeffding
    1963). Fast where many counts of different numbers of draws are compared, and never too small.

    Parameters
    ----------
    successes, draws, probability
        The counts, the numbers of draws and the expected shares, of shapes that broadcast.

    >>> log_tail([50, 100], 100, 0.5).round(2).tolist()
    [-0.0, -69.31]
    """
    count, total, chance = np.broadcast_arrays(
        *(np.asarray(given, dtype=np.float64) for given in (successes, draws, probability))
    )
    share = count / np.maximum(total, 1.0)

    def part(seen: Floats, expected: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.where(seen > 0, seen * (np.log(seen) - np.log(expected)), 0.0)

    distance = part(share, chance) + part(1 - share, 1 - chance)
    return np.asarray(np.where(total > 0, -total * np.where(total > 0, distance, 0.0), 0.0))


def incomplete_beta(first: Floats, second: Floats, x: Floats) -> Floats:
    """Return I_x(a, b), the regularised incomplete beta function; ``first`` is a and ``second`` is b."""
    result = np.where(x >= 1, 1.0, 0.0)
    inside = (x > 0) & (x < 1)
    if not inside.any():
        return result
    a, b, x = first[inside], second[inside], x[inside]
    logs = np.asarray(_lgamma(a + b) - _lgamma(a) - _lgamma(b), dtype=np.float64)
    front = np.exp(logs + a * np.log(x) + b * np.log1p(-x))
    # The fraction converges fast on the side of the mean that x is on.
    direct = x < (a + 1) / (a + b + 2)
    fraction = _continued_fraction(np.where(direct, a, b), np.where(direct, b, a), np.where(direct, x, 1 - x))
    result[inside] = np.where(direct, front * fraction / a, 1 - front * fraction / b)
    return np.clip(result, 0.0, 1.0)


def _continued_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Lentz's method for the continued fraction of the incomplete beta function."""

    def safe(value: Floats) -> Floats:
        value[np.abs(value) < TINY] = TINY
        return value

    c = np.ones_like(x)
    d = 1 / safe(1 - (a + b) * x / (a + 1))
    result = d.copy()
    for step in range(1, MAX_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        d, c = 1 / safe(1 + even * d), safe(1 + even / c)
        result *= d * c
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        d, c = 1 / safe(1 + odd * d), safe(1 + odd / c)
        change = d * c
        result *= change
        if (np.abs(change - 1) < PRECISION).all():
            return result
    raise ArithmeticError("the continued fraction of the incomplete beta function did not converge")
