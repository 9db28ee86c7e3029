"""The square wave, and its extension to privacy levels."""

from __future__ import annotations

import math

import numpy as np

from graphveil.channels.build import calibrated, family, input_grid, window_table
from graphveil.channels.channel import Channel, FiniteChannel
from graphveil.channels.exact import Claim, check_epsilon, exp_below, target
from graphveil.channels.piecewise import window_cells
from graphveil.checks import check_whole

# Below, the closed form of b loses all its digits to cancellation and a series takes over.
SERIES_BELOW = 1e-2


def half_width(epsilon: float) -> float:
    """b = (εe^ε-e^ε+1)/(e^ε(e^ε-ε-1)), half the width of the window on the range [-1, 1].

    Both brackets start at ε²/2; divided by it they are Σ 2(j-1)/j!·ε^{j-2} and Σ 2/j!·ε^{j-2}.

    >>> half_width(1e-9)
    0.9999999993333333
    """
    if epsilon > SERIES_BELOW:
        power = math.exp(epsilon)
        return (epsilon * power - math.expm1(epsilon)) / (power * (math.expm1(epsilon) - epsilon))
    top = sum(2 * (j - 1) / math.factorial(j) * epsilon ** (j - 2) for j in range(2, 14))
    bottom = sum(2 / math.factorial(j) * epsilon ** (j - 2) for j in range(2, 14))
    return top / (math.exp(epsilon) * bottom)


@family
def square_wave(epsilon: float, points: int | None = None, raw: bool = False) -> FiniteChannel:
    """The square wave (SW): density e^ε/(2be^ε+2) on [x-b, x+b], 1/(2be^ε+2) on the rest of [-1-b, 1+b].

    b = (εe^ε-e^ε+1)/(e^ε(e^ε-ε-1)). A report has mean x·b(e^ε-1)/(be^ε+1) and second moment
    (b³e^ε+3b²+3b+1)/(3(be^ε+1)) + x²·b(e^ε-1)/(be^ε+1). With ``raw`` it decodes to itself, as LDP-GE uses it: biased
    towards 0 by design. Otherwise the factor is divided out, as TOGL does: unbiased.

    Source: Li et al. (2020), "Estimating numerical distributions under local differential privacy"; on [-1, 1] in LDP-GE.
    Claim: ε, for the reason given at `piecewise`.

    Parameters
    ----------
    epsilon
        The claim for one value.
    points
        The number of input points on [-1, 1]; None for as many as ε needs.
    raw
        Whether a report decodes to itself, which is biased.

    Examples
    --------
    >>> square_wave(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    width = half_width(epsilon)
    grid = input_grid(epsilon, points)
    widths, first, last, midpoints = window_cells(grid - width, grid + width, -1 - width, 1 + width)
    table = window_table(widths, first, last, exp_below(target(epsilon)))
    if raw:
        return Channel("square-wave (raw)", table, grid, midpoints, Claim(epsilon))
    return calibrated("square-wave", table, midpoints, Claim(epsilon))


# A table has an entry for every level and twice as many outputs.
MAX_LEVELS = 512


@family
def esw(epsilon: float, levels: int) -> Channel:
    """Extended square wave over levels 1..f: outputs 1-b..f+b, those within b of the true level e^ε times as likely.

    b = ⌊f(εe^ε-e^ε+1)/(2e^ε(e^ε-1-ε))⌋; the window of 2b+1 outputs has p = e^ε/((2b+1)e^ε+f-1) each and the f-1
    others q = p/e^ε. Outputs decode to the level that they name, which may lie outside 1..f.

    Source: the level mechanism of PPGNN; its printed numbering 1..f+2b does not sum to one, ours does.
    Claim: ε. Cells of width 1; their two levels are b and ⌊e^ε b⌋.

    >>> esw(1.0, 6).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    levels = check_whole(levels, "levels", least=2, most=MAX_LEVELS)
    reach = math.floor(levels * half_width(epsilon) / 2)
    first = list(range(levels))
    table = window_table(
        [1] * (levels + 2 * reach),
        first,
        [start + 2 * reach + 1 for start in first],
        exp_below(target(epsilon)),
    )
    return Channel(
        f"esw({levels})",
        table,
        np.arange(1.0, levels + 1),
        np.arange(1.0 - reach, levels + reach + 1),
        Claim(epsilon),
    )
