"""Clopper-Pearson intervals: what a count of draws says about a probability, for any probability and any count.

The interval at confidence 1-α ends where one more extreme count would have a probability of α/2. These tails of the
binomial distribution are incomplete beta functions, computed here by their continued fraction (Numerical Recipes, 6.4),
so that an audit needs no more than numpy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# The fraction converges in about √n steps next to the mean, faster elsewhere.
MAX_STEPS = 200_000
TINY, PRECISION = 1e-300, 1e-12

_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def clopper_pearson(successes: int, draws: int, confidence: float) -> tuple[float, float]:
    """The two-sided interval of a probability after ``successes`` of ``draws``.

    >>> low, high = clopper_pearson(0, 100, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    low, high = clopper_pearsons([successes], draws, confidence)
    return float(low[0]), float(high[0])


def clopper_pearsons(successes: ArrayLike, draws: int, confidence: float) -> tuple[Floats, Floats]:
    """The lower and the upper ends of the intervals of many counts."""
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
    """Which probabilities lie outside the interval of their count at confidence 1-``error``.

    >>> unlikely([480, 700], 1000, [0.5, 0.5], 0.001).tolist()
    [False, True]
    """
    count = np.asarray(successes, dtype=np.float64)
    chance = np.asarray(probabilities, dtype=np.float64)
    return np.minimum(at_least(count, draws, chance), at_most(count, draws, chance)) < error / 2


def at_least(successes: ArrayLike, draws: int, probability: ArrayLike) -> Floats:
    """P[X ≥ successes] for X binomial: I_p(k, n-k+1)."""
    count, chance = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    )
    result = np.ones(count.shape)
    some = count > 0
    result[some] = incomplete_beta(count[some], draws - count[some] + 1, chance[some])
    return result


def at_most(successes: ArrayLike, draws: int, probability: ArrayLike) -> Floats:
    """P[X ≤ successes] for X binomial."""
    return at_least(draws - np.asarray(successes, dtype=np.float64), draws, 1 - np.asarray(probability))


def log_tail(successes: ArrayLike, draws: ArrayLike, probability: ArrayLike) -> Floats:
    """At most how likely a count as far from its mean is, on its own side, as a logarithm: -n·KL(k/n, p), after Chernoff.

    It holds for binomial counts, and for hypergeometric ones of the same mean (Hoeffding 1963). Fast where many counts
    of different numbers of draws are compared, and never too small.

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
    """I_x(a, b), the regularised incomplete beta function."""
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
