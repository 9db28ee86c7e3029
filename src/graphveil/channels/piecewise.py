"""Densities of two heights on a window that moves with the value: piecewise, PM-SUB, and the hybrid with one bit."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from graphveil.channels.build import calibrated, family, input_grid, lattice, window_table
from graphveil.channels.channel import FiniteChannel, Values
from graphveil.channels.exact import TOTAL, Claim, Counts, check_epsilon, exp_below, target
from graphveil.channels.onebit import onebit_table


def window_cells(
    starts: Values, stops: Values, low: float, high: float
) -> tuple[list[int], list[int], list[int], Values]:
    """Cut [low, high] at all window ends; return widths, first and last cell of each window, and midpoints.

    Parameters
    ----------
    starts, stops
        (inputs,) float64: the ends of each input's window.
    low, high
        The ends of the range of reports.
    """
    edges = np.concatenate([[low], starts, stops, [high]])
    placed = lattice(edges)
    unique = sorted(set(placed))
    place = {edge: index for index, edge in enumerate(unique)}
    count = len(starts)
    first = [place[edge] for edge in placed[1 : count + 1]]
    last = [place[edge] for edge in placed[count + 1 : -1]]
    widths = [stop - start for start, stop in pairwise(unique)]
    unit = (high - low) / (placed[-1] - placed[0])
    midpoints = np.array(
        [low + (start + stop - 2 * placed[0]) / 2 * unit for start, stop in pairwise(unique)]
    )
    return widths, first, last, midpoints


def piecewise_table(epsilon: float, shape: float, grid: Values, total: int = TOTAL) -> tuple[Counts, Values]:
    """Return counts and midpoints of the mechanism with window [a(x-1/t), a(x+1/t)], a = (e^ε+t)/(e^ε-1).

    Parameters
    ----------
    epsilon
        ε.
    shape
        t, which says how wide the window is.
    grid
        (inputs,) float64: the input points.
    total
        The sum of each row.
    """
    power = math.exp(epsilon)
    slope = (power + shape) / math.expm1(epsilon)
    bound = slope * (1 + 1 / shape)
    widths, first, last, midpoints = window_cells(
        slope * (grid - 1 / shape), slope * (grid + 1 / shape), -bound, bound
    )
    return window_table(widths, first, last, exp_below(target(epsilon)), total), midpoints


@family
def piecewise(epsilon: float, points: int | None = None) -> FiniteChannel:
    """The piecewise mechanism (PM): density p on [l(x), r(x)] and p/e^ε on the rest of [-s, s].

    s = (e^{ε/2}+1)/(e^{ε/2}-1), p = (e^ε-e^{ε/2})/(2e^{ε/2}+2), l(x) = (s+1)x/2-(s-1)/2, r(x) = l(x)+s-1.
    Unbiased; variance x²/(e^{ε/2}-1) + (e^{ε/2}+3)/(3(e^{ε/2}-1)²).

    Source: Wang et al. (2019), "Collecting and analyzing multidimensional data with local differential privacy".
    Claim: ε. The cells are cut at the window ends of all grid points, so a cell lies wholly inside or outside every
    window, and its two levels are b and ⌊e^ε b⌋. Midpoints of cells keep the mean because the density is flat there.
    UPGNET's Eq. 16 prints the range of reports for m sampled values without dividing by m: it needs e^{ε/2m}.

    >>> piecewise(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    table, midpoints = piecewise_table(epsilon, math.exp(epsilon / 2), input_grid(epsilon, points))
    return calibrated("piecewise", table, midpoints, Claim(epsilon))


@family
def pm_sub(epsilon: float, points: int | None = None) -> FiniteChannel:
    """PM-SUB: the piecewise mechanism with t = e^{ε/3} in place of e^{ε/2}.

    Window [a(x-1/t), a(x+1/t)] with a = (e^ε+t)/(e^ε-1), in which a report falls with probability e^ε/(e^ε+t); the
    range is ±a(1+1/t). Unbiased; variance x²(t+1)/(e^ε-1) + (t+e^ε)((t+1)³+e^ε-1)/(3t²(e^ε-1)²).

    Source: Zhao et al. (2020), "Local differential privacy-based federated learning for Internet of Things".
    Claim: ε, for the reason given at `piecewise`.

    >>> pm_sub(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    table, midpoints = piecewise_table(epsilon, math.exp(epsilon / 3), input_grid(epsilon, points))
    return calibrated("pm-sub", table, midpoints, Claim(epsilon))


# The ε* below which one bit alone is better: the root that Wang et al. (2019, Eq. 9) print as about 0.61.
ONE_BIT_BELOW = math.log(
    (-5 + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3) + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)) / 27
)


def piecewise_share(epsilon: float) -> float:
    """Return the probability of using the piecewise mechanism: 1-e^{-ε/2} above ε*, 0 below."""
    return -math.expm1(-epsilon / 2) if epsilon > ONE_BIT_BELOW else 0.0


@family
def hybrid(epsilon: float, points: int | None = None) -> FiniteChannel:
    """The hybrid mechanism (HM): PM with probability 1-e^{-ε/2} (never for ε ≤ ε* ≈ 0.61), else Duchi's one bit.

    Unbiased; its variance is the average of the two (they have the same mean).

    Source: Wang et al. (2019). Claim: ε. The outputs of the two parts are kept apart, each part is an ε-channel, and
    which one is used does not depend on the value.

    >>> hybrid(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    grid = input_grid(epsilon, points)
    wave_total = round(piecewise_share(epsilon) * TOTAL)
    ends = onebit_table(epsilon, TOTAL - wave_total)
    magnitude = 1 / math.tanh(epsilon / 2)
    # One bit is linear in x: a row in between mixes the two end rows. Both columns stay within their ratio.
    share = (grid + 1) / 2
    second = np.array(
        [int(ends[0, 1]) + round(part * int(ends[1, 1] - ends[0, 1])) for part in share.tolist()]
    )
    bits = np.stack([TOTAL - wave_total - second, second], axis=1)
    if wave_total == 0:
        return calibrated("hybrid", bits, np.array([-magnitude, magnitude]), Claim(epsilon))
    wave, midpoints = piecewise_table(epsilon, math.exp(epsilon / 2), grid, wave_total)
    outputs = np.concatenate([midpoints, [-magnitude, magnitude]])
    return calibrated("hybrid", np.concatenate([wave, bits], axis=1), outputs, Claim(epsilon))
