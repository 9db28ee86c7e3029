"""What veil would gain over structure, from public numbers: a curve fitted to measured gains, and how far it was off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.experiments.tuning.measured_gains import MeasuredGain, Situation

Floats = NDArray[np.float64]
# Who teaches: a part of the users, a panel whose rows are there, a panel of which only the size is known.
Kind = Literal["private", "panel", "planned"]
# Graphs of the sort that is asked about, real ones or towns, count for so many of the other sort.
OWN_WEIGHT = 10.0
# Errors in towns count for so much in intervals of real graphs, and the other way round.
OTHER_SORT = 0.02
# How strongly weights keep to 0, in lines.
RIDGE = 3.0
# Differences beyond this many points count linearly.
HUBER = 3.0
# An error of this many points, this share of the gain and this share of what is within reach is one unit of what intervals are made of.
UNIT, UNIT_SHARE, UNIT_REACH = 0.5, 0.5, 0.05
# Intervals leave out so much at each end.
TAIL = 0.05
# Volunteers' rows that tell less than this many nats count as this.
LEAST_NATS = 0.01
# Veil falls back to structure: an interval that comes as near to no gain as this includes it.
NEAR = 1.0
# The variance of a report of a unit row by privunit, times its numbers, at some budgets; in between it is taken as a power of ε.
BUDGETS, REPORT_NOISE = (0.5, 1.0, 2.0, 4.0, 8.0), (25.2, 6.33, 1.62, 0.435, 0.133)


@dataclass(frozen=True)
class Predicted:
    """A gain in points, with an interval that held in nine of ten lines on graphs which the curve had not seen."""

    gain: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GainModel:
    """Gains are a share of what there is to gain; the share is a logistic curve of public numbers.

    ``errors`` are those on graphs that were left out of the fit, in units that grow with the gain, and ``counts`` how much each counts.
    """

    kind: Kind
    weights: Floats
    centre: Floats
    width: Floats
    errors: Floats
    counts: Floats
    towns: NDArray[np.bool_]

    @classmethod
    def fit(cls, kind: Kind, lines: Sequence[MeasuredGain], *, town: bool = False) -> GainModel:
        """The curve of all lines of that kind, for towns or for real graphs, and its errors on each graph by the curve of all others."""
        lines = [line for line in lines if (line.situation.panel > 0) == (kind != "private")]
        points = np.array([features(line.situation, kind) for line in lines])
        most = np.array([_most(line.situation, kind) for line in lines])
        gains = np.array([line.gain for line in lines])
        counts = _counts(lines, town)
        centre, width = points.mean(axis=0), points.std(axis=0) + 1e-9
        scaled = (points - centre) / width
        weights = _fitted(scaled, most, gains, counts)
        names = np.array([line.data for line in lines])
        towns = np.array([line.town for line in lines])
        held = np.empty(len(lines))
        for name in np.unique(names):
            out = names == name
            others = _fitted(scaled[~out], most[~out], gains[~out], counts[~out], weights)
            held[out] = _curve(others, scaled[out], most[out])
        units = [_unit(line.situation, kind, gain) for line, gain in zip(lines, held.tolist(), strict=True)]
        return cls(kind, weights, centre, width, (gains - held) / np.array(units), counts, towns)

    def predict(self, situation: Situation) -> Predicted:
        """The gain that is expected, and its interval."""
        point = (features(situation, self.kind) - self.centre) / self.width
        most = np.array([_most(situation, self.kind)])
        gain = float(_curve(self.weights, point[None, :], most)[0])
        unit = _unit(situation, self.kind, gain)
        counts = np.where(self.towns == situation.town, 1.0, OTHER_SORT) * self.counts
        low, high = (gain + unit * _quantile(self.errors, counts, at) for at in (TAIL, 1 - TAIL))
        low = min(low, 0.0) if low < NEAR else low
        return Predicted(gain, min(low, gain), max(min(high, _left(situation)), gain))


def features(situation: Situation, kind: Kind) -> Floats:
    """The numbers that decide; all but the last, whether the graph is a town, may only raise a gain."""
    told = {
        "private": [teaching_signal(situation)],
        "panel": [math.log(max(situation.simulated, 1e-3)), math.log(max(situation.nats, LEAST_NATS))],
        "planned": [math.log(max(situation.panel, 1))],
    }
    return np.array([*told[kind], float(situation.town)])


def teaching_signal(situation: Situation) -> float:
    """The logarithm of √(n/2C)/σ(ε): how far class means of n private reports stand out of their noise, but for what features tell.

    >>> from graphveil.experiments.tuning.public_numbers import PublicNumbers
    >>> numbers = PublicNumbers(1000, 64, 2, 500, 250, 8.0, 0.8, 0.7, 0.4, 0.3)
    >>> round(math.exp(2 * teaching_signal(Situation(numbers, 1.0, 0.1))), 2)
    19.75
    """
    numbers = situation.numbers
    teachers = max(numbers.trained, numbers.users / 2)
    noise = np.interp(math.log(situation.epsilon), np.log(BUDGETS), np.log(REPORT_NOISE))
    return 0.5 * (math.log(teachers / (2 * numbers.classes)) - float(noise))


def _left(situation: Situation) -> float:
    """All that structure lacks, in points."""
    return 100 * max(situation.numbers.left, 0.001)


def _most(situation: Situation, kind: Kind) -> float:
    """What gains are a share of, in points: all that structure lacks; without volunteers' rows its geometric mean with what own answers
    could add at this budget. Neighbours' answers lift gains above the latter."""
    if kind == "panel":
        return _left(situation)
    return math.sqrt(_left(situation) * 100 * max(situation.reach, 1e-4))


def _unit(situation: Situation, kind: Kind, gain: float) -> float:
    """What an error is counted in, in points: more where more is foretold, and where more is within reach."""
    reach = situation.simulated if kind == "panel" else situation.reach
    return UNIT + UNIT_SHARE * gain + UNIT_REACH * 100 * reach


def _counts(lines: Sequence[MeasuredGain], town: bool) -> Floats:
    """How much lines count: more on graphs of the same sort, and not more where there are more lines at one budget."""
    keys = [(line.graph, line.situation.epsilon, line.situation.panel) for line in lines]
    times = {key: keys.count(key) for key in set(keys)}
    return np.array(
        [
            (OWN_WEIGHT if line.town == town else 1.0) / times[key]
            for line, key in zip(lines, keys, strict=True)
        ]
    )


def _curve(weights: Floats, points: Floats, most: Floats) -> Floats:
    share: Floats = most / (1 + np.exp(-np.clip(points @ weights[1:] + weights[0], -30, 30)))
    return share


def _fitted(
    points: Floats, most: Floats, gains: Floats, counts: Floats, start: Floats | None = None
) -> Floats:
    """The weights of the least penalised error; large errors count linearly."""
    # Loaded where something is fitted: most commands fit nothing.
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        curve = _curve(weights, points, most)
        away = curve - gains
        value = HUBER**2 * (np.sqrt(1 + (away / HUBER) ** 2) - 1)
        slope = counts * away / np.sqrt(1 + (away / HUBER) ** 2) * curve * (1 - curve / most)
        kept = np.concatenate([[0.0], weights[1:]])
        return (
            float((counts * value).sum() + RIDGE / 2 * (kept**2).sum()),
            np.concatenate([[slope.sum()], slope @ points]) + RIDGE * kept,
        )

    last = points.shape[1] - 1
    begin = np.concatenate([[-2.0], np.zeros(points.shape[1])]) if start is None else start
    bounds = [
        (None, None),
        *((0.0, None) if place < last else (None, None) for place in range(last + 1)),
    ]
    found: Floats = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def _quantile(values: Floats, counts: Floats, at: float) -> float:
    """The value below which this share of the counts lies."""
    order = np.argsort(values)
    share = np.cumsum(counts[order]) / counts.sum()
    return float(values[order][min(int(np.searchsorted(share, at)), len(values) - 1)])
