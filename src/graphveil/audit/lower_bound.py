"""Lower bounds on ε from draws: from how often an event comes under one input and under another.

If an event has probability p under one input and p' under another, ε is at least ln((p-δ)/p'). With an interval for both, the
bound holds with 99.9%, over all events together (Bonferroni: each interval has 0.1% over their number). A bound above the claim
is drawn again, with fresh randomness, and counts only if it is above it again: a correct mechanism fails with a probability of
at most one in a million.

Each answer may be drawn right and a report of hundreds of them still tell too much, as with noise that all of them share. So
the codes of a report are also added up with weights, chosen on draws of their own, and the sum is counted beyond some thresholds
under two inputs (`CodeContrast`): the ends of the range, and rows whose halves are at opposite ends, where shared noise cancels out.

All counts of an audit are judged by one bound, Chernoff's on the tail of a binomial distribution (`log_tail`): it is never too
small, holds for draws without replacement too, and needs no more than numpy. A count is `unlikely` where the bound is below half
of the stated error rate; an interval holds all probabilities under which its count is not (`probability_intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.audit.candidate import CheckedLoss, compared_pairs, is_compared
from graphveil.audit.findings import Leak, Rank, Step, Title, raise_first, show
from graphveil.audit.reports import Floats, Numbers, Version, code_count, distinct, place_count, placed_codes
from graphveil.channels.sampling import SystemBits
from graphveil.mechanisms.base import Mechanism
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
# Values of a block of draws, draws that choose a direction, and values in all; long rows get fewer draws.
BLOCK_VALUES, EXAMPLES, MAX_VALUES, MIN_DRAWS = 1 << 18, 1000, 10**8, 2000


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


def unlikely(successes: ArrayLike, draws: int, probabilities: ArrayLike, error: float) -> NDArray[np.bool_]:
    """Return which counts are too far from their expected shares for a two-sided test of this error rate.

    Parameters
    ----------
    successes
        The counts.
    draws
        The number of draws behind each count.
    probabilities
        The expected shares, of the same shape as the counts.
    error
        The largest probability that a count of the right share is called unlikely.

    >>> unlikely([480, 700], 1000, [0.5, 0.5], 0.001).tolist()
    [False, True]
    """
    return log_tail(successes, draws, probabilities) < math.log(error / 2)


def probability_intervals(successes: ArrayLike, draws: int, log_error: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest probability of each count, by bisection; rounded to the outside.

    Parameters
    ----------
    successes
        The counts, of any shape.
    draws
        The number of draws behind each count.
    log_error
        The logarithm of the largest probability that either end is wrong.

    >>> low, high = probability_intervals([0], 100, math.log(0.025))
    >>> low.tolist(), high.round(4).tolist()
    ([0.0], [0.0362])
    """
    count = np.asarray(successes, dtype=np.float64)
    share = count / draws

    def end(beyond: float) -> Floats:
        inside, outside = share.copy(), np.full(share.shape, beyond)
        for _ in range(50):
            middle = (inside + outside) / 2
            likely = log_tail(count, draws, middle) > log_error
            inside, outside = np.where(likely, middle, inside), np.where(likely, outside, middle)
        return outside

    return end(0.0), end(1.0)


@dataclass(frozen=True)
class LowerBound:
    """ε is at least this much, by an event that came so often under the two inputs."""

    epsilon: float
    event: str
    inputs: tuple[Any, Any]
    counts: tuple[int, int]
    draws: int

    def leak(self, claimed: float, error: float = ERROR) -> Leak:
        """The finding, if the bound is above the claim."""
        detail = (
            f"reports tell more than claimed: {self.event} came {self.counts[0]:,} times in {self.draws:,} under "
            f"{show(self.inputs[0])} and {self.counts[1]:,} times under {show(self.inputs[1])}, so epsilon is at least "
            f"{self.epsilon:.6g} with {100 * (1 - error):.6g}%, claimed {claimed:g}"
        )
        return Leak(detail, Rank.BOUND)


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
    low, high = probability_intervals(both, draws, math.log(error / both.size / 2))
    best = LowerBound(0.0, "no event", inputs, (0, 0), draws)
    for one, other in ((0, 1), (1, 0)):
        gaps = np.maximum(low[one] - delta, 0.0) / high[other]
        place = int(gaps.argmax())
        if gaps[place] > math.exp(best.epsilon):
            event = title(place % size) if place < size else f"anything but {title(place % size)}"
            seen = int(both[one, place]), int(both[other, place])
            best = LowerBound(math.log(gaps[place]), event, (inputs[one], inputs[other]), seen, draws)
    return best


def confirmed_bound(known: float, draw: Callable[[], LowerBound]) -> LowerBound:
    """Return a bound from draws; where it is above what is known, the smaller of it and one from fresh draws.

    Parameters
    ----------
    known
        The ε that is claimed, or that is known to be lost.
    draw
        Returns a bound from fresh draws.
    """
    first = draw()
    return first if first.epsilon <= known else min(first, draw(), key=lambda bound: bound.epsilon)


def bound_step(version: Version, draws: int) -> Step:
    """Bound the ε of a mechanism from below by so many reports under each input, believing no table; it must not exceed the claim.

    Where the exact ε is known to be above the claim, a step before has said so, and only more than that is news.
    """
    mechanism = version.mechanism
    claimed, known = mechanism.claim.epsilon, known_epsilon(mechanism)
    draws = max(MIN_DRAWS, min(draws, MAX_VALUES // mechanism.shape.row_length))
    best = confirmed_bound(known, lambda: lower_bound(version, draws))
    seen = (
        f"{draws:,} whole reports under each of two inputs: epsilon is at least {best.epsilon:.6g} with {1 - ERROR:.1%}, "
        f"claimed {claimed:g}"
    )
    return Step(Title.BOUND, seen, (best.leak(claimed),) if best.epsilon > known else ())


def known_epsilon(mechanism: Mechanism) -> float:
    """Return the claim, or the exact ε where that is above it."""
    return max(mechanism.claim.epsilon, CheckedLoss.of(mechanism).loss.epsilon)


def lower_bound(version: Version, draws: int) -> LowerBound:
    """Choose two inputs and events on some draws, and bound ε by them on so many fresh ones."""
    mechanism = version.mechanism
    own = [*version.valid.values(), *(() if mechanism.subject == "links" else version.invalid.values())]
    inputs = distinct([*mechanism.extremes(), *own])
    pilots = [EventCounts.of(version, private, max(draws // FEWER, EXAMPLES)) for private in inputs]
    pair = most_separated([pilot.counts for pilot in pilots], compared_pairs(mechanism, inputs))
    one, other = (inputs[index] for index in pair)
    chosen_pilots = [pilots[index] for index in pair]
    sums, examples = [pilot.sums for pilot in chosen_pilots], [pilot.example for pilot in chosen_pilots]
    contrast = CodeContrast.of((one, other), sums, examples)
    first, second = (pilot.counts for pilot in chosen_pilots)
    order = np.argsort(-(np.log(first + 0.5) - np.log(second + 0.5)), kind="stable")
    often = order[np.maximum(first, second)[order] >= OFTEN].tolist()
    chosen = sorted({*often[:CHOSEN], *often[-CHOSEN:]})
    chosen += range(len(first), len(first) + contrast.cuts.size)
    drawn = [EventCounts.of(version, private, draws, contrast) for private in (one, other)]
    counts = np.array([each.counts[chosen] for each in drawn])
    return best_bound(
        counts, lambda place: drawn[0].title(chosen[place]), (one, other), draws, mechanism.claim.delta
    )


def most_separated(distributions: Sequence[NDArray[Any]], pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """Of these pairs the two inputs whose reports differ most often (in total variation)."""
    if not pairs:
        return 0, 0
    return max(pairs, key=lambda pair: float(np.abs(distributions[pair[0]] - distributions[pair[1]]).sum()))


@dataclass(frozen=True, eq=False)
class EventCounts:
    """How often simple events came in many reports of one input: each code of each place, each place, and sums beyond each cut.

    ``sums`` are those of `place_sums`, ``example`` is the first block of reports.
    """

    counts: Numbers
    sums: Floats
    example: Reports
    places: int
    contrast: CodeContrast | None

    @classmethod
    def of(
        cls, version: Version, private: Any, draws: int, contrast: CodeContrast | None = None
    ) -> EventCounts:
        """Draw reports and count their events, in blocks so that memory is bounded.

        Parameters
        ----------
        version
            The mechanism and where its random words come from.
        private
            The input of all users.
        draws
            The number of reports to draw.
        contrast
            Weighted sums to count as well.
        """
        shape, places = version.mechanism.shape, place_count(version.mechanism)
        alphabet = code_count(version.mechanism)
        sums = np.zeros((2, places))
        places = places if places * alphabet <= MAX_CELLS else 0
        codes = np.zeros(places * alphabet, dtype=np.int64)
        above = np.zeros(0 if contrast is None else contrast.cuts.size, dtype=np.int64)
        example: Reports | None = None
        block = max(1, BLOCK_VALUES // max(shape.row_length, shape.length))
        for start in range(0, draws, block):
            reports = version.draw(private, min(block, draws - start))
            example = reports if example is None else example
            sums += place_sums(reports)
            if places:
                _, named, values = placed_codes(reports)
                codes += np.bincount(named * alphabet + values, minlength=len(codes))
            if contrast is not None:
                above += contrast.counts_above(reports)
        assert example is not None
        asked = codes.reshape(places, alphabet).sum(axis=1)
        return cls(np.concatenate([codes, asked, above]), sums, example, places, contrast)

    def title(self, event: int) -> str:
        """An event in words."""
        alphabet = code_count(self.example.mechanism)
        if event < self.places * alphabet:
            return f"code {event % alphabet} for value {event // alphabet}"
        event -= self.places * alphabet
        if event < self.places or self.contrast is None:
            return f"a report about value {event}"
        return self.contrast.title(event - self.places)


# A bound above the claim is drawn again: both together are wrong with the square of this, for each pair of inputs.
CONTRAST_ERROR = 1e-5
# Draws under each input, fewer where rows are long; a part of them chooses weights.
CONTRAST_DRAWS, MIN_CONTRAST_DRAWS, CONTRAST_VALUES, PILOT_PART = 4000, 256, 1 << 18, 4


def check_contrast(version: Version) -> None:
    """Check that weighted codes of whole reports tell no more than is claimed."""
    mechanism, known = version.mechanism, known_epsilon(version.mechanism)
    most = CONTRAST_VALUES // max(mechanism.shape.row_length, mechanism.shape.length)
    draws = max(MIN_CONTRAST_DRAWS, min(CONTRAST_DRAWS, most))
    for pair in opposite_inputs(version):
        pilots = [version.draw(private, max(draws // PILOT_PART, 64)) for private in pair]
        contrast = CodeContrast.of(pair, [place_sums(pilot) for pilot in pilots], pilots)
        bound = confirmed_bound(known, partial(contrast.bound, version, draws))
        if bound.epsilon > known:
            raise_first([bound.leak(mechanism.claim.epsilon, CONTRAST_ERROR)])


def opposite_inputs(version: Version) -> list[tuple[Any, Any]]:
    """Return pairs of inputs that are as different as a claim is about; half of a row is chosen by random words."""
    mechanism, inputs = version.mechanism, list(version.valid.values())
    # A single level or class tells nothing.
    pairs = [(inputs[0], inputs[1])] if len(inputs) > 1 else []
    if mechanism.subject == "links":
        pairs = [(inputs[-2], inputs[-1])]
    elif mechanism.subject == "features" and mechanism.shape.row_length > 1:
        low, high = np.asarray(inputs[0]), np.asarray(inputs[1])
        random_bits = version.random_bits or SystemBits()
        half = np.random.default_rng(random_bits.take(4)).permutation(len(low)) < len(low) // 2
        pairs.append((np.where(half, low, high), np.where(half, high, low)))
    return [pair for pair in pairs if is_compared(mechanism, *pair)]


@dataclass(frozen=True, eq=False)
class CodeContrast:
    """Weighted sums of the codes of a report that tell two inputs apart (one row of ``weights`` each), and where they are cut."""

    inputs: tuple[Any, Any]
    weights: Floats
    centre: float
    cuts: Floats

    @classmethod
    def of(cls, inputs: tuple[Any, Any], sums: Sequence[Floats], examples: Sequence[Reports]) -> CodeContrast:
        """Choose weights by how the mean codes of the two inputs differ, and by the order of values.

        Parameters
        ----------
        inputs
            The two inputs.
        sums
            The `place_sums` of some reports of each.
        examples
            Some reports of each, which tell where the weighted sums are cut.
        """
        means = [codes / np.maximum(seen, 1.0) for codes, seen in sums]
        weights = [means[0] - means[1]]
        if np.ndim(inputs[0]) == 1 and len(inputs[0]) == len(means[0]):
            weights.append(np.sign(np.asarray(inputs[0], dtype=np.float64) - np.asarray(inputs[1])))
        # Where reports are uneven, a code that is not there counts nothing.
        centre = (
            0.0 if examples[0].mechanism.shape.uneven else np.mean([each.codes.mean() for each in examples])
        )
        contrast = cls(inputs, np.stack(weights), float(centre), np.zeros(0))
        scores = np.concatenate([contrast.scores(reports) for reports in examples], axis=1)
        return replace(contrast, cuts=np.quantile(scores, QUANTILES, axis=1))

    def scores(self, reports: Reports) -> Floats:
        """The weighted sums of each user's report."""
        owners, places, codes = placed_codes(reports)
        values = codes - self.centre
        sums = [np.bincount(owners, values * weights[places], reports.users) for weights in self.weights]
        return np.stack(sums)

    def counts_above(self, reports: Reports) -> Numbers:
        """Return how many sums lie above each cut."""
        return np.asarray((self.scores(reports) > self.cuts[:, :, None]).sum(axis=2).ravel())

    def bound(self, version: Version, draws: int) -> LowerBound:
        """Return the lower bound on ε that fresh reports prove."""
        counts = np.array([self.counts_above(version.draw(private, draws)) for private in self.inputs])
        delta = version.mechanism.claim.delta
        return best_bound(counts, self.title, self.inputs, draws, delta, CONTRAST_ERROR)

    def title(self, event: int) -> str:
        """An event in words."""
        return f"a weighted sum of all codes above its {QUANTILES[event // len(self.weights)]:.0%} point"


def place_sums(reports: Reports) -> Floats:
    """Return the sum of all codes at each place and how many there are, (2, places) float64; where reports are uneven, of all users."""
    _, places, codes = placed_codes(reports)
    sums, seen = (np.bincount(places, weights, place_count(reports.mechanism)) for weights in (codes, None))
    return np.stack([sums, np.full(len(seen), reports.users) if reports.mechanism.shape.uneven else seen])
