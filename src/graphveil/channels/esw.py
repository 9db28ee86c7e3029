"""The square wave on ordered levels: ESW."""

from __future__ import annotations

import math

import numpy as np

from graphveil.channels.build import family, window_table
from graphveil.channels.channel import Channel
from graphveil.channels.exact import Claim, check_epsilon, exp_below, target
from graphveil.channels.square_wave import half_width
from graphveil.checks import check_whole

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
