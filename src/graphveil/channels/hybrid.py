"""The hybrid mechanism: piecewise or one bit, by the toss of a coin."""

from __future__ import annotations

import math

import numpy as np

from graphveil.channels.build import calibrated, family, input_grid
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import TOTAL, Claim, check_epsilon
from graphveil.channels.onebit import onebit_table
from graphveil.channels.piecewise import piecewise_table

# The ε* below which one bit alone is better: the root that Wang et al. (2019, Eq. 9) print as about 0.61.
ONE_BIT_BELOW = math.log(
    (-5 + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3) + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)) / 27
)


def piecewise_share(epsilon: float) -> float:
    """How often the piecewise mechanism is used: 1-e^{-ε/2} above ε*, never below."""
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
