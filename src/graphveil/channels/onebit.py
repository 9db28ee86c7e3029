"""One bit of one value, the mechanism of Duchi et al. in one dimension."""

from __future__ import annotations

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
