"""Graded responses: the farther an answer from the truth, the less likely. FEATURERR and condensed LDP."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import calibrated, family, fitted, input_grid, rounded_table
from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim, check_epsilon
from graphveil.checks import check_whole

# Bins of a response: a table has an entry for every two of them.
MAX_BINS = 1024


def graded_masses(epsilon: float, size: int) -> NDArray[np.float64]:
    """P[u | t] in proportion to exp(-ε|u-t|/(k-1)), rows not yet summing to one."""
    places = np.arange(size)
    masses: NDArray[np.float64] = np.exp(-epsilon / (size - 1) * np.abs(places[:, None] - places[None, :]))
    return masses


def unbiased_outputs(epsilon: float, inputs: Values) -> Values:
    """Decoded values v with Σ_u P[u | t] v_u = x_t for all t.

    P = diag(1/Z)·K with K_tu = r^|t-u|, whose inverse is tridiagonal: v = K⁻¹(Z·x).
    """
    size = len(inputs)
    decay = math.exp(-epsilon / (size - 1))
    weighted = graded_masses(epsilon, size).sum(axis=1) * inputs
    gap = -math.expm1(-2 * epsilon / (size - 1))  # 1 - r²
    outputs = np.empty(size)
    outputs[1:-1] = ((1 + decay**2) * weighted[1:-1] - decay * (weighted[:-2] + weighted[2:])) / gap
    outputs[0] = (weighted[0] - decay * weighted[1]) / gap
    outputs[-1] = (weighted[-1] - decay * weighted[-2]) / gap
    return outputs


def _end_rows(aim: Fraction, size: int, claim: Claim) -> Channel:
    """The first and the last row of a graded table, the worst pair: where they break the claim, so does the whole."""
    masses = np.exp(-float(aim) / (size - 1) * np.arange(size))
    table = rounded_table(np.stack([masses, masses[::-1]]))
    return Channel("end rows", table, np.array([0.0, 1.0]), np.arange(size, dtype=np.float64), claim)


@family
def featurerr(epsilon: float, bins: int = 10, raw: bool = False) -> FiniteChannel:
    """Bin u of k with probability in proportion to exp(-|u-t|/(kσ)), σ = (k-1)/(kε): exp(-ε|u-t|/(k-1)).

    With ``raw`` a bin decodes to its upper edge u/k, as printed: biased, by up to 0.36 of the range at ε = 1 and k = 10.
    Otherwise the response is divided out and the report is unbiased, at a larger variance.

    Source: FEATURERR of HeteroRR, Algorithm 1 and Theorem 3 (on [0, 1]; here on [-1, 1] like all families).
    Claim: ε. The printed proof takes the largest ratio at the two end bins, whose normalisers are equal, e^ε. For a
    bin in between the normaliser is larger, but r(Z_1 + r - r^{k-1}) ≤ Z_1 keeps every other ratio below. The table says
    the same. The documents' "strong composition" over features is plain addition of budgets.

    Parameters
    ----------
    epsilon
        The claim for one value.
    bins
        k, the number of bins.
    raw
        Whether a bin decodes to its upper edge, as printed, which is biased.

    Examples
    --------
    >>> featurerr(1.0).epsilon <= 1.0
    True
    """
    epsilon, bins = check_epsilon(epsilon), check_whole(bins, "bins", least=2, most=MAX_BINS)

    def build(aim: Fraction) -> Channel:
        table = rounded_table(graded_masses(float(aim), bins))
        if raw:
            edges = 2 * np.arange(1, bins + 1) / bins - 1
            return Channel(f"featurerr({bins}, raw)", table, edges, edges, Claim(epsilon))
        outputs = unbiased_outputs(float(aim), np.linspace(-1.0, 1.0, bins))
        return calibrated(f"featurerr({bins})", table, outputs, Claim(epsilon))

    return fitted(build, Claim(epsilon), lambda aim: _end_rows(aim, bins, Claim(epsilon)))


@family
def condensed(epsilon: float, points: int | None = None) -> FiniteChannel:
    """Condensed (metric) LDP: P[u | t] in proportion to exp(-α·|u-t|/2) on a grid of [-1, 1], decoded without bias.

    Source: Gursoy et al. (2019), "Secure and utility-aware data collection with condensed local differential privacy";
    TOGL's CLDP variant.
    Claim: the total over the public range, ε = α·d_max/2; two values at distance c are protected at about α·c, so α
    (= 2ε/d_max, here ε a unit of [-1, 1]) is printed beside it. Why it holds: see `featurerr`, the same response.

    >>> condensed(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    grid = input_grid(epsilon, points)

    def build(aim: Fraction) -> Channel:
        table = rounded_table(graded_masses(float(aim), len(grid)))
        return calibrated("condensed", table, unbiased_outputs(float(aim), grid), Claim(epsilon))

    return fitted(build, Claim(epsilon), lambda aim: _end_rows(aim, len(grid), Claim(epsilon)))
