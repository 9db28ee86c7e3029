"""Means, intervals, tests, and verdicts in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphveil.errors import InputError
from graphveil.number_format import budget, points, reach

CONFIDENCE = 0.95
# Documents resample so often where they print bootstrap intervals.
RESAMPLES = 1000


@dataclass(frozen=True)
class Summary:
    """A mean with its interval; one run has no interval."""

    mean: float
    low: float | None = None
    high: float | None = None


def t_interval(values: Sequence[float]) -> Summary:
    """Return the mean and its 95% t-interval, which covers the mean in 95% of cases even for few runs.

    >>> t_interval([0.5])
    Summary(mean=0.5, low=None, high=None)
    """
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean())
    if array.size < 2:
        return Summary(mean, None, None)
    from scipy.special import stdtrit

    half = float(stdtrit(array.size - 1, (1 + CONFIDENCE) / 2) * array.std(ddof=1) / np.sqrt(array.size))
    return Summary(mean, mean - half, mean + half)


def exact_interval(right: int, guesses: int) -> Summary:
    """Return the share of right guesses and its exact 95% interval (Clopper and Pearson).

    >>> exact_interval(0, 10).low, round(exact_interval(5, 10).low, 3)
    (0.0, 0.187)
    """
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    low = float(beta.ppf(tail, right, guesses - right + 1)) if right else 0.0
    high = float(beta.ppf(1 - tail, right + 1, guesses - right)) if right < guesses else 1.0
    return Summary(right / guesses, low, high)


def at_least(right: int, guesses: int, rate: float) -> float:
    """Return the probability that ``right`` or more of ``guesses`` are right, each with probability ``rate``.

    Parameters
    ----------
    right
        The number of right guesses.
    guesses
        The number of guesses.
    rate
        The probability of a right guess.

    >>> at_least(2, 2, 0.5)
    0.25
    """
    from scipy.stats import binom

    return float(binom.sf(right - 1, guesses, rate))


def bootstrap(values: Sequence[float]) -> Summary:
    """Return the mean and its 95% bootstrap interval; over 5 runs it covers the mean in 83% of cases.

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


@dataclass(frozen=True)
class Spread:
    """The quantity that a document prints after ±: its name, and its value for our runs (None for one)."""

    words: str
    of: Callable[[Sequence[float]], float | None]


def _half_bootstrap(values: Sequence[float]) -> float | None:
    interval = bootstrap(values)
    return None if interval.low is None or interval.high is None else (interval.high - interval.low) / 2


SPREADS = {
    "bootstrap": Spread(f"half of a 95% bootstrap interval ({RESAMPLES} resamples)", _half_bootstrap),
    "sd": Spread(
        "a standard deviation over runs",
        lambda values: float(np.std(values, ddof=1)) if len(values) > 1 else None,
    ),
}


def paired_gain(values: Sequence[float], others: Sequence[float]) -> Summary:
    """Return the mean difference over the same seeds and splits, with its 95% t-interval."""
    return t_interval([value - other for value, other in zip(values, others, strict=True)])


def paired_p(values: Sequence[float], others: Sequence[float]) -> float:
    """Return the p value of a paired two-sided t-test: how likely a mean difference as large is where there is none.

    Its 5% are where the interval of `paired_gain` ends. Differences that are all the same leave nothing to chance.

    >>> paired_p([0.5, 0.6], [0.5, 0.6]), paired_p([0.5, 0.75], [0.25, 0.5])
    (1.0, 0.0)
    """
    from scipy.special import stdtr

    differences = np.asarray(values, dtype=np.float64) - np.asarray(others, dtype=np.float64)
    if differences.size < 2:
        raise InputError(f"a p value needs at least 2 pairs, got {differences.size}")
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(differences.size)
    if error == 0:
        return 0.0 if mean else 1.0
    return float(2 * stdtr(differences.size - 1, -abs(mean / error)))


def holm(values: Sequence[float]) -> list[float]:
    """Return p values with Holm's correction.

    If those below 5% are taken for differences, any of them is wrong in at most 5% of cases. The smallest of
    k is multiplied by k, the next by k - 1, and so on; none is below one that was smaller, or above 1.

    >>> holm([0.02, 0.01, 0.5])
    [0.04, 0.03, 0.5]
    """
    corrected = [0.0] * len(values)
    highest = 0.0
    for place, which in enumerate(sorted(range(len(values)), key=lambda which: values[which])):
        highest = max(highest, min(1.0, (len(values) - place) * values[which]))
        corrected[which] = highest
    return corrected


def verdict(
    gain: Summary, epsilon: float, over_structure: Summary | None = None, nobody: str = "asking nobody"
) -> str:
    """Return in words the gain of features over the control, and how that compares with asking nobody.

    Parameters
    ----------
    gain
        The gain over the control, 0..1.
    epsilon
        The budget of features.
    over_structure
        The gain over asking nobody, 0..1.
    nobody
        The words for asking nobody.
    >>> verdict(Summary(0.001, -0.005, 0.007), 1.0)
    'features at ε = 1 add 0.1 ± 0.6 points over the control: nothing measurable'
    >>> verdict(Summary(0.08, 0.06, 0.1), 1.0, Summary(-0.004, -0.006, -0.002))
    'features at ε = 1 add 8.0 ± 2.0 points over the control; 0.4 ± 0.2 below asking nobody'
    """
    sentence = f"features at {budget(epsilon)} {_added(gain)}"
    return sentence if over_structure is None else f"{sentence}; {beside(over_structure, nobody)}"


def link_verdict(gain: Summary, epsilon: float, without: str = "no edges at all") -> str:
    """Return in words the gain of private links over the same method without them.

    Parameters
    ----------
    gain
        The gain over the same method without private links, 0..1.
    epsilon
        The budget of a link.
    without
        The words for having no private links.

    >>> link_verdict(Summary(0.08, 0.06, 0.1), 10.0)
    'links at ε = 10 add 8.0 ± 2.0 points over no edges at all'
    """
    return f"links at {budget(epsilon)} {_added(gain, without)}"


def _added(gain: Summary, other: str = "the control") -> str:
    if gain.low is None or gain.high is None:
        return f"add {points(gain.mean)} points over {other} in one run: no verdict from one run"
    if gain.high < 0:
        return f"cost {points(-gain.mean)}{reach(gain)} points against {other}"
    nothing = "" if gain.low > 0 else ": nothing measurable"
    return f"add {points(gain.mean)}{reach(gain)} points over {other}{nothing}"


def beside(over: Summary, other: str) -> str:
    """Return in words how far a result is from one reached without asking users for features.

    >>> beside(Summary(0.02, 0.01, 0.03), "volunteers alone")
    '2.0 ± 1.0 above volunteers alone'
    """
    where = "above" if over.mean > 0 else "below"
    distance = f"{points(abs(over.mean))}{reach(over)} {where} {other}"
    sure = over.low is None or over.high is None or over.low > 0 or over.high < 0
    return distance if sure else f"{distance}, which is no difference"
