"""A square wave whose variable x is overwritten between its branches, so that the middle part is centred at 0.

    if u < left:     x = draw from [-1-b, x-b]
    elif u < middle: x = draw from [-b, b]         # should be [x-b, x+b]: x was set to 0 before
    else:            x = draw from [x+b, 1+b]

A report inside one's own window but outside [-b, b] never comes, and others cause it: ε is infinite. Seen in published code.
"""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.build import rounded_table
from graphveil.channels.square_wave import half_width
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "epsilon is infinite"

CELLS, POINTS = 120, 9


def build(epsilon, dims, range, sampled=1):
    budget = epsilon / sampled
    width = half_width(budget)
    edges = np.linspace(-1 - width, 1 + width, CELLS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    grid = np.linspace(-1, 1, POINTS)
    masses = np.array(
        [(np.abs(middles - x) > width) + math.exp(budget) * (np.abs(middles) <= width) for x in grid]
    )
    channel = Channel("overwritten", rounded_table(masses, TOTAL), grid, middles, Claim(budget))
    return FeatureMechanism(
        "overwritten wave",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (channel,),
        1.0,
        unbiased=False,
    )
