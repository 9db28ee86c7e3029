"""What whole reports of many values tell, from their codes alone: a lower bound of ε for a report of any size.

Each answer may be drawn right and a report of hundreds of them still tell too much, as with noise that all of them share. So
the codes of a report are added up with weights, chosen on draws of their own, and the sum is counted beyond some thresholds
under two inputs: the ends of the range, and rows whose halves are at opposite ends, where shared noise cancels out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.bound import QUANTILES, Bound, best_bound
from graphveil.audit.findings import Leak, Rank, Step, checked_reports, wide_batch
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.trust import Stated, compared
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

Floats = NDArray[np.float64]

# A bound above the claim is drawn again: both together are wrong with the square of this, for each pair of inputs.
ERROR = 1e-5
# Draws under each input, fewer where rows are long; a part of them chooses weights.
DRAWS, MIN_DRAWS, VALUES, PILOT = 4000, 256, 1 << 18, 4


def with_contrast(step: Step, mechanism: Mechanism, public: PublicRange | None, words: Words) -> Step:
    """A step that has found no bound above the claim, with what codes alone tell besides."""
    return step if step.leaks else replace(step, leaks=tuple(more_than_claimed(mechanism, public, words)))


def more_than_claimed(mechanism: Mechanism, public: PublicRange | None, words: Words) -> list[str]:
    """The finding where whole reports tell more than is claimed."""
    known = max(mechanism.claim.epsilon, Stated.of(mechanism).loss.epsilon)
    draws = max(MIN_DRAWS, min(DRAWS, VALUES // max(mechanism.row_length, mechanism.report_length)))
    for one, other in opposites(mechanism, public, words):
        first = Contrast.of(mechanism, one, other, max(draws // PILOT, 64), words)
        if first.bound(draws, words).epsilon <= known:
            continue
        again = first.bound(draws, words)
        if again.epsilon > known:
            return [Leak(again.leak(mechanism.claim.epsilon, ERROR), Rank.BOUND)]
    return []


def opposites(mechanism: Mechanism, public: PublicRange | None, words: Words) -> list[tuple[Any, Any]]:
    """Pairs of inputs that are as different as a claim is about."""
    inputs = list(valid_inputs(mechanism, public).values())
    # A single level or class tells nothing.
    pairs = [(inputs[0], inputs[1])] if len(inputs) > 1 else []
    if mechanism.subject == "links":
        pairs = [(inputs[-2], inputs[-1])]
    elif mechanism.subject == "features" and mechanism.row_length > 1:
        low, high = np.asarray(inputs[0]), np.asarray(inputs[1])
        half = np.random.default_rng(words.take(4)).permutation(len(low)) < len(low) // 2
        pairs.append((np.where(half, low, high), np.where(half, high, low)))
    return [pair for pair in pairs if compared(mechanism, *pair)]


@dataclass(frozen=True, eq=False)
class Contrast:
    """Weighted sums of the codes of a report that tell two inputs apart (one row of ``weights`` each), and where they are cut."""

    mechanism: Mechanism
    inputs: tuple[Any, Any]
    weights: Floats
    centre: float
    cuts: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, one: Any, other: Any, draws: int, words: Words) -> Contrast:
        """Weights by how the codes of a few reports differ in the mean, and by the order of the two inputs' values."""
        drawn = [checked_reports(mechanism, wide_batch(row, draws), words) for row in (one, other)]
        centre = 0.0 if mechanism.uneven else float(np.mean([reports.codes.mean() for reports in drawn]))
        sums = [
            np.bincount(places, weights=values, minlength=_count(mechanism))
            for _, places, values in (_coded(reports, centre) for reports in drawn)
        ]
        weights = [sums[0] - sums[1]]
        if np.ndim(one) == 1 and len(one) == len(weights[0]):
            weights.append(np.sign(np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)))
        contrast = cls(mechanism, (one, other), np.stack(weights), centre, np.zeros(0))
        scores = np.concatenate([contrast.scores(reports) for reports in drawn], axis=1)
        return replace(contrast, cuts=np.quantile(scores, QUANTILES, axis=1))

    def scores(self, reports: Reports) -> Floats:
        """The weighted sums of each user's report."""
        owners, places, values = _coded(reports, self.centre)
        return np.stack(
            [
                np.bincount(owners, weights=values * weights[places], minlength=reports.users)
                for weights in self.weights
            ]
        )

    def bound(self, draws: int, words: Words) -> Bound:
        """What fresh reports prove about ε."""
        counts = []
        for row in self.inputs:
            scores = self.scores(checked_reports(self.mechanism, wide_batch(row, draws), words))
            counts.append((scores > self.cuts[:, :, None]).sum(axis=2).ravel())
        delta, sums = self.mechanism.claim.delta, len(self.weights)
        return best_bound(
            np.array(counts), lambda place: _title(QUANTILES[place // sums]), self.inputs, draws, delta, ERROR
        )


def _title(quantile: float) -> str:
    return f"a weighted sum of all codes above its {quantile:.0%} point"


def _count(mechanism: Mechanism) -> int:
    if mechanism.uneven:
        return mechanism.alphabet
    return mechanism.places if mechanism.names_dimensions else mechanism.report_length


def _coded(reports: Reports, centre: float) -> tuple[NDArray[np.int64], NDArray[Any], Floats]:
    """Of every code in some reports the user, the place and the value; where reports are uneven a code is a place."""
    owners = np.repeat(np.arange(reports.users), reports.lengths)
    if reports.mechanism.uneven:
        return owners, reports.codes.astype(np.int64), np.ones(len(reports.codes))
    places = reports.dims
    if places is None:
        places = np.tile(np.arange(reports.mechanism.report_length, dtype=np.int32), reports.users)
    return owners, places, reports.codes.astype(np.float64) - centre
