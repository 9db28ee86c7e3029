"""One table of all families: how each is built, and the mean and variance that its source gives in closed form.

The formulas are written down here a second time, from their sources, and not taken from the code under test.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from graphveil import channels
from graphveil.channels import FiniteChannel

Curve = Callable[[float], float]
# ε ↦ (x ↦ a moment of the report of x)
Formula = Callable[[float], Curve]

# Where whole tables are compared with their claims and closed forms; condensed tables change their size after 4.
BUDGETS = (0.01, 0.5, 1.0, 4.0, 4.0001, 10.0)


@dataclass(frozen=True)
class Family:
    """A family of channels, its range of ε, and what its source says of it."""

    name: str
    build: Callable[..., FiniteChannel]
    variance: Formula | None = None
    mean: Formula = lambda epsilon: lambda x: x
    unbiased: bool = True
    gridded: bool = False  # takes `points`
    tight: bool = True  # spends all of its budget
    smallest: float = 1e-8
    largest: float = 20.0
    slow: tuple[float, ...] = ()  # where a table with all input symbols takes seconds to build

    def budgets(self, candidates: tuple[float, ...]) -> tuple[float, ...]:
        """Those that the family takes."""
        return tuple(epsilon for epsilon in candidates if self.smallest <= epsilon <= self.largest)

    def whole_budgets(self) -> tuple[float, ...]:
        """Those of `BUDGETS` where the family's table with all input symbols is compared."""
        return tuple(epsilon for epsilon in self.budgets(BUDGETS) if epsilon not in self.slow)

    def whole(self, epsilon: float) -> FiniteChannel:
        """The channel that a user gets; kept longer than the package does."""
        return _kept(self, epsilon, None)

    def coarse(self, epsilon: float, points: int) -> FiniteChannel:
        """A channel with few input symbols, where the family has a choice: quickly built."""
        return _kept(self, epsilon, points if self.gridded else None)


@cache
def _kept(family: Family, epsilon: float, points: int | None) -> FiniteChannel:
    return family.build(epsilon) if points is None else family.build(epsilon, points=points)


def onebit_variance(epsilon: float) -> Curve:
    """((e^ε+1)/(e^ε-1))² - x²."""
    power = math.exp(epsilon)
    return lambda x: ((power + 1) / (power - 1)) ** 2 - x**2


def laplace_variance(epsilon: float) -> Curve:
    """8/ε²: scale 2/ε."""
    return lambda x: 8 / epsilon**2


def gaussian_variance(epsilon: float, delta: float) -> Curve:
    """σ² = 8 ln(1.25/δ)/ε²: the classical bound for a range of width 2."""
    return lambda x: 8 * math.log(1.25 / delta) / epsilon**2


@cache
def analytic_sigma(epsilon: float, delta: float) -> float:
    """The σ that solves Φ(1/σ - εσ/2) - e^ε Φ(-1/σ - εσ/2) = δ (Balle and Wang 2018, for sensitivity 2)."""

    def excess(sigma: float) -> float:
        shift = epsilon * sigma / 2
        gained = norm.cdf(1 / sigma - shift)
        return float(gained - math.exp(epsilon) * norm.cdf(-1 / sigma - shift) - delta)

    return float(brentq(excess, 1e-2, 1e6, xtol=1e-12))


def analytic_variance(epsilon: float, delta: float) -> Curve:
    """σ² of the exact calibration."""
    return lambda x: analytic_sigma(epsilon, delta) ** 2


def piecewise_variance(epsilon: float) -> Curve:
    """x²/(e^{ε/2}-1) + (e^{ε/2}+3)/(3(e^{ε/2}-1)²)."""
    root = math.exp(epsilon / 2)
    return lambda x: x**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)


def window_variance(epsilon: float, shape: float) -> Curve:
    """x²(t+1)/(e^ε-1) + (t+e^ε)((t+1)³+e^ε-1)/(3t²(e^ε-1)²): PM-SUB's, for any t."""
    power = math.exp(epsilon)
    constant = (shape + power) * ((shape + 1) ** 3 + power - 1) / (3 * shape**2 * (power - 1) ** 2)
    return lambda x: x**2 * (shape + 1) / (power - 1) + constant


def pm_sub_variance(epsilon: float) -> Curve:
    """With t = e^{ε/3}."""
    return window_variance(epsilon, math.exp(epsilon / 3))


def half_width(epsilon: float) -> float:
    """b = (εe^ε-e^ε+1)/(e^ε(e^ε-ε-1)); good to 10 digits from ε = 0.01 on."""
    power = math.exp(epsilon)
    return (epsilon * power - power + 1) / (power * (power - epsilon - 1))


def square_wave_slope(epsilon: float) -> float:
    """b(e^ε-1)/(be^ε+1): how much of x is left in the mean of a report."""
    width, power = half_width(epsilon), math.exp(epsilon)
    return width * (power - 1) / (width * power + 1)


def raw_square_wave_mean(epsilon: float) -> Curve:
    """x·b(e^ε-1)/(be^ε+1)."""
    return lambda x: x * square_wave_slope(epsilon)


def raw_square_wave_variance(epsilon: float) -> Curve:
    """(b³e^ε+3b²+3b+1)/(3(be^ε+1)) + (C-C²)x², C = b(e^ε-1)/(be^ε+1) (LDP-GE, Eq. 11 with k = d)."""
    width, power, slope = half_width(epsilon), math.exp(epsilon), square_wave_slope(epsilon)
    constant = (width**3 * power + 3 * width**2 + 3 * width + 1) / (3 * (width * power + 1))
    return lambda x: constant + (slope - slope**2) * x**2


def square_wave_variance(epsilon: float) -> Curve:
    """The same with C divided out."""
    return lambda x: raw_square_wave_variance(epsilon)(x) / square_wave_slope(epsilon) ** 2


def hybrid_variance(epsilon: float) -> Curve:
    """The average of piecewise (with probability 1-e^{-ε/2} above ε* ≈ 0.61) and one bit."""
    share = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    wave, bit = piecewise_variance(epsilon), onebit_variance(epsilon)
    return lambda x: share * wave(x) + (1 - share) * bit(x)


def three_output_variance_at(epsilon: float, zero: float) -> Curve:
    """C²(1-P[0 | x]) - x² with P[0 | x] = a(1-|x|(1-e^{-ε})), C = (e^ε+1)/((e^ε-1)(1-a/e^ε))."""
    power = math.exp(epsilon)
    bound = (power + 1) / ((power - 1) * (1 - zero / power))
    return lambda x: bound**2 * (1 - zero * (1 - abs(x) * (1 - 1 / power))) - x**2


def worst_three_output_variance(epsilon: float, zero: float) -> float:
    """The variance is concave in |x|: its largest value is at the vertex, or at the end if that lies beyond."""
    power = math.exp(epsilon)
    bound = (power + 1) / ((power - 1) * (1 - zero / power))
    vertex = bound**2 * zero * (1 - 1 / power) / 2
    return three_output_variance_at(epsilon, zero)(min(vertex, 1.0))


@cache
def best_zero_share(epsilon: float) -> float:
    """The a in [0, e^ε/(e^ε+2)] with the smallest worst-case variance, found by search."""
    cap = math.exp(epsilon) / (math.exp(epsilon) + 2)
    worst = partial(worst_three_output_variance, epsilon)
    inner = minimize_scalar(worst, bounds=(0, cap), method="bounded", options={"xatol": 1e-12})
    return min((0.0, float(inner.x), cap), key=worst)


def three_output_variance(epsilon: float) -> Curve:
    """With the best a."""
    return three_output_variance_at(epsilon, best_zero_share(epsilon))


@cache
def _graded_squares(epsilon: float, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Second moments of the graded response, decoded by the inverse of its transition matrix."""
    places, grid = np.arange(size), np.linspace(-1, 1, size)
    weights = np.exp(-epsilon / (size - 1) * np.abs(places[:, None] - places))
    response = weights / weights.sum(axis=1, keepdims=True)
    decoded = np.linalg.solve(response, grid)
    return grid, response @ decoded**2


def graded_variance(epsilon: float, size: int | None = None) -> Curve:
    """By solving for the decoded values; between grid points with the rounding at random."""
    grid, squares = _graded_squares(epsilon, size or (65 if epsilon <= 4 else 513))
    return lambda x: float(np.interp(x, grid, squares)) - x**2


def bit_rates(name: str, epsilon: float, bits: int) -> Iterator[tuple[float, float]]:
    """P[1 | 1] and P[1 | 0] of each bit."""
    growth = math.exp(epsilon / bits)
    for place in range(bits):
        even, odd = growth / (1 + growth), 1 / (1 + growth**3)
        keep = {"latent": 1 / 2, "ome": odd if place % 2 else even}[name]
        yield keep, keep / growth


def string_variance(name: str, epsilon: float, bits: int = 10) -> Curve:
    """Σ over bits of weight²·p(1-p)/(P[1|1]-P[1|0])²; between grid points with the rounding at random."""
    grid = np.linspace(-1, 1, 1 << bits)
    rates = list(bit_rates(name, epsilon, bits))
    weights = [2 * (1 << place) / ((1 << bits) - 1) for place in range(bits - 1, -1, -1)]

    def at(symbol: int) -> float:
        places = range(bits - 1, -1, -1)
        shown = [
            rate[0] if symbol >> place & 1 else rate[1] for place, rate in zip(places, rates, strict=True)
        ]
        parts = zip(weights, shown, rates, strict=True)
        return sum(w**2 * p * (1 - p) / (keep - flip) ** 2 for w, p, (keep, flip) in parts)

    def variance(x: float) -> float:
        upper = min(max(int(np.searchsorted(grid, x)), 1), len(grid) - 1)
        share = (x - grid[upper - 1]) / (grid[upper] - grid[upper - 1])
        rounding = (x - grid[upper - 1]) * (grid[upper] - x)
        return float((1 - share) * at(upper - 1) + share * at(upper) + rounding)

    return variance


def _analytic(delta: float, slow: tuple[float, ...] = ()) -> Family:
    return Family(
        f"analytic-gaussian {delta:g}",
        partial(channels.analytic_gaussian, delta=delta),
        partial(analytic_variance, delta=delta),
        gridded=True,
        largest=10.0,
        slow=slow,
    )


def _classical(delta: float) -> Family:
    return Family(
        f"gaussian {delta:g}",
        partial(channels.gaussian, delta=delta),
        partial(gaussian_variance, delta=delta),
        gridded=True,
        tight=False,
        largest=1.0,
    )


FAMILIES = {
    family.name: family
    for family in (
        Family("onebit", channels.onebit, onebit_variance),
        Family("laplace", channels.laplace, laplace_variance, gridded=True),
        *map(_classical, (1e-3, 1e-5, 1e-6)),
        _analytic(1e-3, slow=(4.0001,)),
        _analytic(1e-5, slow=(4.0001,)),
        _analytic(1e-6, slow=(4.0001, 10.0)),
        Family("piecewise", channels.piecewise, piecewise_variance, gridded=True),
        Family("pm-sub", channels.pm_sub, pm_sub_variance, gridded=True),
        Family("square-wave", channels.square_wave, square_wave_variance, gridded=True),
        Family(
            "square-wave (raw)",
            partial(channels.square_wave, raw=True),
            raw_square_wave_variance,
            raw_square_wave_mean,
            unbiased=False,
            gridded=True,
        ),
        Family("hybrid", channels.hybrid, hybrid_variance, gridded=True),
        Family("three-output", channels.three_output, three_output_variance),
        Family("condensed", channels.condensed, graded_variance, gridded=True),
        Family("featurerr", channels.featurerr, partial(graded_variance, size=10)),
        Family("latent", channels.latent, partial(string_variance, "latent"), smallest=1e-7),
        Family("ome", channels.ome, partial(string_variance, "ome"), smallest=1e-7),
        # These have no decoded value that estimates x.
        Family("featurerr (raw)", partial(channels.featurerr, raw=True), unbiased=False),
        Family("latent (raw)", partial(channels.latent, bits=4, raw=True), unbiased=False, smallest=4e-8),
        Family("kary 2", partial(channels.kary, size=2), unbiased=False),
        Family("kary 7", partial(channels.kary, size=7), unbiased=False),
        Family("kary 300", partial(channels.kary, size=300), unbiased=False, smallest=1e-7),
        Family("esw 2", partial(channels.esw, levels=2), unbiased=False),
        Family("esw 6", partial(channels.esw, levels=6), unbiased=False),
    )
}
