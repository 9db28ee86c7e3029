"""One bit of one value, the mechanism of Duchi et al. in one dimension, and three outputs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from graphveil.channels.build import calibrated, family, window_table
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import TOTAL, Claim, check_epsilon, exp_below, target


def onebit_table(epsilon: float, total: int = TOTAL) -> np.ndarray:
    """Binary randomized response: e^ε times as likely to answer one's own symbol as the other."""
    return window_table([1, 1], [0, 1], [1, 2], exp_below(target(epsilon)), total)


@family
def onebit(epsilon: float) -> FiniteChannel:
    """P[+1 | x] = 1/2 + x(e^ε-1)/(2(e^ε+1)) for x in [-1, 1]; the answer ±1 decodes to ±(e^ε+1)/(e^ε-1).

    Rounding x to ±1 at random and then answering by randomized response is the same thing, so two input symbols do.
    Variance: ((e^ε+1)/(e^ε-1))² - x².

    Source: Duchi, Jordan and Wainwright (2013, 2018); Ding et al. (2017) as "1-bit"; the inner step of the multi-bit
    mechanism (Sajadmanesh and Gatica-Perez 2021) and of multi-dimensional local randomizers built on it. Printed with
    e^ε-1 instead of e^ε in P[-1 | x] in one place (LDP-GE, Eq. 6): that does not sum to one.
    Claim: ε. The two entries of a column are q and ⌊e^ε q⌋.

    >>> onebit(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    return calibrated("onebit", onebit_table(epsilon), np.array([-1.0, 1.0]), Claim(epsilon))


duchi = onebit


# Where the two ends of the closed form lie: ln 2, and the root ln((3+√65)/2) of Zhao et al. (2020, Eq. 13).
SILENT_BELOW, CAPPED_ABOVE = math.log(2), math.log((3 + math.sqrt(65)) / 2)


def zero_share(epsilon: float) -> float:
    """P[0 | x = 0], chosen for the smallest worst-case variance (Zhao et al. 2020, Eq. 13).

    0 up to ε = ln 2, e^ε/(e^ε+2) above ln((3+√65)/2), and in between the root of a cubic.
    """
    if epsilon <= SILENT_BELOW:
        return 0.0
    power = math.exp(epsilon)
    if epsilon > CAPPED_ABOVE:
        return power / (power + 2)
    first = power**4 + 14 * power**3 + 50 * power**2 - 2 * power + 25
    second = (
        -2 * power**6 - 42 * power**5 - 270 * power**4 - 404 * power**3 - 918 * power**2 + 30 * power - 250
    )
    angle = math.pi / 3 + math.acos(max(-1.0, min(1.0, -second / (2 * first**1.5)))) / 3
    return -(-(power**2) - 4 * power - 5 + 2 * math.sqrt(first) * math.cos(angle)) / 6


@family
def three_output(epsilon: float) -> FiniteChannel:
    """Three outputs -C, 0, C. With a = P[0 | 0]: P[0 | x] = a(1-|x|(1-e^{-ε})), and the rest is split so that
    P[C | 1] = e^ε P[-C | 1] and P[C | 0] = P[-C | 0], linearly in between.

    C = (e^ε+1)/((e^ε-1)(1-a/e^ε)). Unbiased; variance C²(1-P[0 | x]) - x². Linear on both sides of 0, so the three
    input symbols -1, 0, 1 do.

    Source: Zhao et al. (2020). Claim: ε. The zero column has a and ⌈a/e^ε⌉, the others P[-C | 1] rounded up and at most
    e^ε times that; a ≤ e^ε/(e^ε+2) keeps P[C | 0] within reach of P[C | 1].

    >>> three_output(1.0).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    power = exp_below(target(epsilon))
    often = int(min(Fraction(zero_share(epsilon)), power / (power + 2)) * TOTAL)
    often -= (TOTAL - often) % 2
    rarely = math.ceil(often / power)
    against = math.ceil((TOTAL - rarely) / (1 + power))
    side = (TOTAL - often) // 2
    toward = TOTAL - rarely - against
    table = np.array([[toward, rarely, against], [side, often, side], [against, rarely, toward]])
    if often == 0:
        return calibrated("three-output", table[[0, 2]][:, [0, 2]], np.array([-1.0, 1.0]), Claim(epsilon))
    return calibrated("three-output", table, np.array([-1.0, 0.0, 1.0]), Claim(epsilon))
