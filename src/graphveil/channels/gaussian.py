"""Gaussian noise, cut into cells: the classical calibration and the exact one."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import calibrated, family, fitted, input_grid, rounded_table
from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim, check_delta, check_epsilon
from graphveil.errors import InputError

SENSITIVITY = 2.0  # the width of [-1, 1]
# Cells are a tenth of σ wide (0.08% of the variance) and reach 6σ beyond the range.
CELL_IN_SIGMAS, REACH_IN_SIGMAS = 0.1, 6.0
# What a table of 2^62 counts can resolve: the reports that decide δ have about δ·e^-ε of the mass under the other input.
MIN_RESOLVED, MAX_GAUSSIAN_EPSILON = 1e-13, 10.0

_erfc = np.frompyfunc(math.erfc, 1, 1)


def upper_tail(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[N(0, 1) > x], accurate far out."""
    return np.asarray(_erfc(x / math.sqrt(2)), dtype=np.float64) / 2


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The δ of x + N(0, σ²) at ε: Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) (Balle and Wang 2018, Theorem 8)."""
    half, shift = SENSITIVITY / (2 * sigma), epsilon * sigma / SENSITIVITY
    return (
        math.erfc((shift - half) / math.sqrt(2)) / 2
        - math.exp(epsilon) * math.erfc((shift + half) / math.sqrt(2)) / 2
    )


def analytic_sigma(epsilon: float, delta: float) -> float:
    """The smallest σ whose exact δ at ε is at most δ, by bisection."""
    low, high = 1e-3, 1.0
    while gaussian_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if gaussian_delta(epsilon, middle) > delta else (low, middle)
    return high


def classical_sigma(epsilon: float, delta: float) -> float:
    """σ = Δ√(2 ln(1.25/δ))/ε with Δ = 2 (Dwork and Roth 2014, Theorem A.1)."""
    return SENSITIVITY * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def gaussian_channel(name: str, grid: Values, sigma: float, claim: Claim) -> Channel:
    """Return x + N(0, σ²) in cells, one of whose edges is where the loss between the ends of the range reaches ε.

    Parameters
    ----------
    name
        The name of the family.
    grid
        (inputs,) float64: the input points.
    sigma
        σ of the noise.
    claim
        The claim of the channel.
    """
    threshold = claim.epsilon * sigma**2 / SENSITIVITY
    reach = max(1 + REACH_IN_SIGMAS * sigma, threshold + sigma)
    count = 2 * math.ceil(reach / (CELL_IN_SIGMAS * sigma))
    edges = np.unique(np.concatenate([np.linspace(-reach, reach, count + 1), [-threshold, threshold]]))
    distance = (edges[None, :] - grid[:, None]) / sigma
    above, below = upper_tail(distance), upper_tail(-distance)
    inside = np.where(
        distance[:, :-1] >= 0,
        above[:, :-1] - above[:, 1:],
        np.where(distance[:, 1:] <= 0, below[:, 1:] - below[:, :-1], 1 - above[:, 1:] - below[:, :-1]),
    )
    masses = np.concatenate([below[:, :1], inside, above[:, -1:]], axis=1)
    # An end cell decodes to the mean beyond its edge of noise around 0.
    far = edges[-1] / sigma
    end = sigma * math.exp(-(far**2) / 2) / math.sqrt(2 * math.pi) / float(upper_tail(np.array([far]))[0])
    outputs = np.concatenate([[-end], (edges[:-1] + edges[1:]) / 2, [end]])
    return calibrated(name, rounded_table(masses), outputs, claim)


def _calibrate(
    name: str, epsilon: float, delta: float, points: int | None, sigma: Callable[[float, float], float]
) -> Channel:
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if epsilon > MAX_GAUSSIAN_EPSILON:
        raise InputError(
            f"epsilon must be at most {MAX_GAUSSIAN_EPSILON:g} for one value with Gaussian noise, got {epsilon:g}: "
            "spread it over more values or use laplace"
        )
    if delta * math.exp(-epsilon) < MIN_RESOLVED:
        raise InputError(
            f"delta must be at least {MIN_RESOLVED * math.exp(epsilon):.3g} for one value at epsilon {epsilon:g}, "
            f"got {delta:g}: a table cannot resolve less"
        )
    grid = input_grid(epsilon, points)
    claim = Claim(epsilon, delta)

    def build(aim: Fraction, rows: Values = grid) -> Channel:
        return gaussian_channel(name, rows, sigma(float(aim), delta), claim)

    # The two ends of the range are the worst pair, so a table of them alone tells most of the time.
    return fitted(build, claim, lambda aim: build(aim, grid[[0, -1]]))


@family
def gaussian(epsilon: float, delta: float, points: int | None = None) -> FiniteChannel:
    """x + N(0, σ²) with σ = 2√(2 ln(1.25/δ))/ε: (ε, δ) for ε ≤ 1. Unbiased; variance σ².

    Source: Dwork and Roth (2014). The documents print σ² = 2 ln(1.25/δ)/ε², which forgets that the range [-1, 1] has
    width 2, and use it at ε > 1, where the theorem says nothing: this refuses ε > 1.
    Claim: (ε, δ), by that theorem, and checked on the table by its hockey-stick divergence. It wastes some of its
    budget: `analytic_gaussian` does not.

    Parameters
    ----------
    epsilon, delta
        The claim for one value; ε is at most 1.
    points
        The number of input points on [-1, 1]; None for as many as ε needs.

    Examples
    --------
    >>> gaussian(1.0, 1e-5).holds
    True
    """
    if check_epsilon(epsilon) > 1:
        raise InputError(
            f"epsilon must be at most 1 for the classical Gaussian, whose bound covers no more, got {epsilon!r}: "
            "use analytic-gaussian"
        )
    return _calibrate("gaussian", epsilon, delta, points, classical_sigma)


@family
def analytic_gaussian(epsilon: float, delta: float, points: int | None = None) -> FiniteChannel:
    """x + N(0, σ²) with the smallest σ that is (ε, δ)-private, for any ε. Unbiased; variance σ².

    Source: Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy". TOGL's Eq. 36 is not
    this calibration.
    Claim: (ε, δ). The two ends of the range are the worst pair, and the set of reports that favours one of them by more
    than e^ε begins at an edge between two cells: the table has the same δ at ε as the noise itself.

    Parameters
    ----------
    epsilon, delta
        The claim for one value.
    points
        The number of input points on [-1, 1]; None for as many as ε needs.

    Examples
    --------
    >>> analytic_gaussian(1.0, 1e-5).holds
    True
    """
    return _calibrate("analytic-gaussian", epsilon, delta, points, analytic_sigma)
