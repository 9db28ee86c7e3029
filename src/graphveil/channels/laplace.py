"""Laplace noise, cut into cells."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import calibrated, family, fitted, input_grid, rounded_table
from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim, check_epsilon

# Cells beyond the range on each side, of equal mass: 2^21·e^-ε of them leave each 2^40 counts in every row (ε ≤ 10.4),
# and 64 lose 0.5% of the variance at the ends of the range.
MIN_TAIL_CELLS, MAX_TAIL_CELLS, TAIL_MASS = 64, 256, 2.0**21
# Inside, cells are at most this part of the noise's scale wide: it costs 0.05% of the variance.
CELL_IN_SCALES = 1 / 12


def laplace_cells(scale: float) -> tuple[NDArray[np.float64], int]:
    """Edges of the inner cells (the outermost are ±M, M = 1 unless the scale is large) and the number of tail cells."""
    reach = max(1.0, scale * CELL_IN_SCALES)
    inner = 2 * math.ceil(reach / (scale * CELL_IN_SCALES))
    tails = int(max(MIN_TAIL_CELLS, min(MAX_TAIL_CELLS, TAIL_MASS * math.exp(-2 / scale))))
    return np.linspace(-reach, reach, inner + 1), tails


def laplace_masses(grid: Values, scale: float, inner: NDArray[np.float64], tails: int) -> NDArray[np.float64]:
    """Return the probability of every cell for every input.

    Differences by expm1, on the side where they are small.

    Parameters
    ----------
    grid
        (inputs,) float64: the input points.
    scale
        The scale of the noise.
    inner
        The edges of the inner cells.
    tails
        The number of cells in each tail.
    """
    reach = inner[-1]
    tail_left = np.exp(-(grid + reach) / scale)[:, None] / (2 * tails) * np.ones(tails)
    tail_right = np.exp((grid - reach) / scale)[:, None] / (2 * tails) * np.ones(tails)

    def left_of(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mass of [low, high] for noise centred at 0, high ≤ 0."""
        return np.exp(high / scale) * -np.expm1((low - high) / scale) / 2

    low, high = inner[None, :-1] - grid[:, None], inner[None, 1:] - grid[:, None]
    within = left_of(np.minimum(low, 0), np.minimum(high, 0)) + left_of(
        np.minimum(-high, 0), np.minimum(-low, 0)
    )
    return np.concatenate([tail_left, within, tail_right], axis=1)


def laplace_centres(scale: float, inner: NDArray[np.float64], tails: int) -> Values:
    """Return the means of the cells: exact in the tails, whose shape is the same for all inputs.

    Midpoints inside.

    Parameters
    ----------
    scale
        The scale of the noise.
    inner
        The edges of the inner cells.
    tails
        The number of cells in each tail.
    """
    # In units of the scale: edges at -ln(1-i/n); a cell's mean is what the partial means of an exponential differ by.
    share = np.arange(tails) / tails
    start = -np.log1p(-share)
    stop = np.append(start[1:], np.inf)
    upper = np.where(np.isinf(stop), 0.0, (np.minimum(stop, 1e3) + 1) * np.exp(-np.minimum(stop, 1e3)))
    centres = inner[-1] + scale * ((start + 1) * np.exp(-start) - upper) * tails
    return np.concatenate([-centres[::-1], (inner[:-1] + inner[1:]) / 2, centres])


@family
def laplace(epsilon: float, points: int | None = None) -> FiniteChannel:
    """x + Lap(2/ε) on [-1, 1], whose width is 2. Unbiased; variance 8/ε².

    Source: Dwork et al. (2006). Claim: ε. A cell's mass changes by at most e^{|x-x'|ε/2} between two inputs, with
    equality only beyond the range. The tails are cells of equal mass; the last, open one decodes to its edge plus the
    scale, the mean of an exponential, which keeps the report unbiased. No cell is empty: a report that only some
    inputs can cause would make ε infinite.

    >>> laplace(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    grid = input_grid(epsilon, points)

    def build(aim: Fraction) -> Channel:
        scale = 2 / float(aim)
        inner, tails = laplace_cells(scale)
        table = rounded_table(laplace_masses(grid, scale, inner, tails))
        return calibrated("laplace", table, laplace_centres(scale, inner, tails), Claim(epsilon))

    return fitted(build, Claim(epsilon))
