"""What veil would gain over structure on a graph, by curves that were fitted to measured gains on other graphs.

The package has the fitted numbers alone, in gain_models.json; the runs that they were fitted to and the fit are in reproduce/advice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from graphveil.methods.public_numbers import PublicNumbers

Floats = NDArray[np.float64]
# Who teaches: a part of the users, a panel whose rows are there, a panel of which only the size is known.
Kind = Literal["private", "panel", "planned"]
KINDS: tuple[Kind, ...] = ("private", "panel", "planned")
# What names of generated graphs begin with.
TOWN = "town"
# Written by `python -m reproduce.advice.fit`.
FILE = "gain_models.json"
# An error of this many points, this share of the gain and this share of what is within reach is one unit of what intervals are made of.
UNIT, UNIT_SHARE, UNIT_REACH = 0.5, 0.5, 0.05
# Volunteers' rows that tell less than this many nats count as this.
LEAST_NATS = 0.01
# Veil falls back to structure: an interval that comes as near to no gain as this includes it.
NEAR = 1.0
# The variance of a report of a unit row by privunit, times its numbers, at some budgets; in between it is taken as a power of ε.
NOISE_BUDGETS, REPORT_NOISE = (0.5, 1.0, 2.0, 4.0, 8.0), (25.2, 6.33, 1.62, 0.435, 0.133)


@dataclass(frozen=True)
class Situation:
    """A graph and a budget: its public numbers, how many volunteers there are (0: none), and what is within reach at that ε.

    ``nats`` is what a volunteer's row tells of the class, and ``simulated`` what answers add to the accuracy in worlds drawn with such
    rows; both are 0 where they are not known. ``town`` says that the graph is generated: features tell more there than in real graphs.
    """

    numbers: PublicNumbers
    epsilon: float
    reach: float
    panel: int = 0
    nats: float = 0.0
    simulated: float = 0.0
    town: bool = False

    def with_users(self, times: float) -> Situation:
        """Return the same with so many times as many users, with as many labels each."""
        more = {
            name: round(getattr(self.numbers, name) * times) for name in ("users", "trained", "validated")
        }
        return replace(self, numbers=replace(self.numbers, **more))


@dataclass(frozen=True)
class PredictedGain:
    """A gain in points, with an interval that held in nine of ten lines on graphs which the curve had not seen."""

    gain: float
    low: float
    high: float


@dataclass(frozen=True)
class GainModel:
    """Gains are a share of what there is to gain; the share is a logistic curve of public numbers.

    The curve is for generated graphs (``town``) or for real ones. It was fitted to so many ``graphs``, all but the one that is named in
    ``without``. ``low_error`` and ``high_error`` are quantiles of its errors on graphs that were left out of the fit, in units that
    grow with the gain.
    """

    kind: Kind
    town: bool
    without: str | None
    graphs: int
    weights: tuple[float, ...]
    centre: tuple[float, ...]
    width: tuple[float, ...]
    low_error: float
    high_error: float

    def predict(self, situation: Situation) -> PredictedGain:
        """Return the gain that is expected, and its interval."""
        point = (features(situation, self.kind) - np.array(self.centre)) / np.array(self.width)
        most = np.array([most_to_gain(situation, self.kind)])
        gain = float(gain_curve(np.array(self.weights), point[None, :], most)[0])
        unit = error_unit(situation, self.kind, gain)
        low, high = gain + unit * self.low_error, gain + unit * self.high_error
        low = min(low, 0.0) if low < NEAR else low
        return PredictedGain(gain, min(low, gain), max(min(high, _lacking(situation)), gain))


@cache
def gain_models() -> tuple[GainModel, ...]:
    """Return all curves that come with the package."""
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return TypeAdapter(tuple[GainModel, ...]).validate_json(text)


def find_gain_model(kind: Kind, data: str) -> GainModel:
    """Return the curve for a graph, itself left out of the fit where it was measured."""
    town = data.startswith(TOWN)
    models = {each.without: each for each in gain_models() if (each.kind, each.town) == (kind, town)}
    return models.get(data, models[None])


def features(situation: Situation, kind: Kind) -> Floats:
    """Return the numbers that decide; all but the last, whether the graph is a town, may only raise a gain."""
    known = {
        "private": [teaching_signal(situation)],
        "panel": [math.log(max(situation.simulated, 1e-3)), math.log(max(situation.nats, LEAST_NATS))],
        "planned": [math.log(max(situation.panel, 1))],
    }
    return np.array([*known[kind], float(situation.town)])


def teaching_signal(situation: Situation) -> float:
    """Return the logarithm of √(n/2C)/σ(ε): how far class means of n private reports stand out of their noise, but for what features tell.

    >>> numbers = PublicNumbers(1000, 64, 2, 500, 250, 8.0, 0.8, 0.7, 0.4, 0.3)
    >>> round(math.exp(2 * teaching_signal(Situation(numbers, 1.0, 0.1))), 2)
    19.75
    """
    numbers = situation.numbers
    teachers = max(numbers.trained, numbers.users / 2)
    noise = np.interp(math.log(situation.epsilon), np.log(NOISE_BUDGETS), np.log(REPORT_NOISE))
    return 0.5 * (math.log(teachers / (2 * numbers.classes)) - float(noise))


def most_to_gain(situation: Situation, kind: Kind) -> float:
    """Return what gains are a share of, in points: all that structure lacks; without volunteers' rows its geometric mean with what own
    answers could add at this budget. Neighbours' answers lift gains above the latter."""
    if kind == "panel":
        return _lacking(situation)
    return math.sqrt(_lacking(situation) * 100 * max(situation.reach, 1e-4))


def error_unit(situation: Situation, kind: Kind, gain: float) -> float:
    """Return what an error is counted in, in points: more where more is foretold, and where more is within reach."""
    reach = situation.simulated if kind == "panel" else situation.reach
    return UNIT + UNIT_SHARE * gain + UNIT_REACH * 100 * reach


def gain_curve(weights: Floats, points: Floats, most: Floats) -> Floats:
    """Return gains by the logistic curve with these weights, the first of them its constant."""
    share: Floats = most / (1 + np.exp(-np.clip(points @ weights[1:] + weights[0], -30, 30)))
    return share


def _lacking(situation: Situation) -> float:
    """Return all that structure lacks, in points."""
    return 100 * max(situation.numbers.left, 0.001)
