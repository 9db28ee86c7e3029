"""What some runs say together: means, intervals, and whether a budget bought anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000  # as the documents resample
CONFIDENCE = 0.95
FEW_RUNS = 10  # below, a verdict says so: a bootstrap over 5 runs covers 84%, not 95%


@dataclass(frozen=True)
class Summary:
    """A mean with its interval; one run has no interval."""

    mean: float
    low: float | None
    high: float | None


def bootstrap(values: Sequence[float]) -> Summary:
    """The mean and its 95% bootstrap interval, as the documents print it.

    >>> bootstrap([0.5])
    Summary(mean=0.5, low=None, high=None)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return Summary(float(array.mean()), None, None)
    random = np.random.Generator(np.random.Philox(0))
    means = array[random.integers(0, array.size, (RESAMPLES, array.size))].mean(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Summary(float(array.mean()), float(low), float(high))


def paired_gain(values: Sequence[float], control: Sequence[float]) -> Summary:
    """The mean difference over the same seeds and splits, with its 95% t-interval."""
    from scipy.stats import t

    gaps = np.asarray(values, dtype=np.float64) - np.asarray(control, dtype=np.float64)
    if gaps.size < 2:
        return Summary(float(gaps.mean()), None, None)
    reach = float(t.ppf((1 + CONFIDENCE) / 2, gaps.size - 1) * gaps.std(ddof=1) / np.sqrt(gaps.size))
    return Summary(float(gaps.mean()), float(gaps.mean()) - reach, float(gaps.mean()) + reach)


def verdict(gain: Summary, epsilon: float, runs: int) -> str:
    """In words: what the features at this budget add to graph and labels.

    >>> verdict(Summary(0.001, -0.005, 0.007), 1.0, 10)
    'features at ε = 1 add 0.1 ± 0.6 points over the control: nothing measurable'
    """
    points = 100 * gain.mean
    if gain.low is None or gain.high is None:
        return f"features at ε = {epsilon:g} add {points:.1f} points over the control in one run: no verdict from one run"
    reach = 100 * (gain.high - gain.low) / 2
    few = "" if runs >= FEW_RUNS else f" ({runs} runs are few)"
    if gain.low > 0:
        return f"features at ε = {epsilon:g} add {points:.1f} ± {reach:.1f} points over the control{few}"
    if gain.high < 0:
        return f"features at ε = {epsilon:g} cost {-points:.1f} ± {reach:.1f} points against the control{few}"
    return f"features at ε = {epsilon:g} add {points:.1f} ± {reach:.1f} points over the control: nothing measurable{few}"
