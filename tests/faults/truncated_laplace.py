"""Laplace noise truncated to three scales around the value: a report far away is possible for some inputs only."""

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.build import rounded_table
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "epsilon is infinite"

CELLS = 80


def build(epsilon, dims, range, sampled=1):
    scale = 2 * sampled / epsilon
    edges = np.linspace(-1 - 3 * scale, 1 + 3 * scale, CELLS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    grid = np.linspace(-1, 1, 5)
    distance = np.abs(middles - grid[:, None])
    masses = np.where(distance <= 3 * scale, np.exp(-distance / scale), 0.0)
    channel = Channel("truncated", rounded_table(masses, TOTAL), grid, middles, Claim(epsilon / sampled))
    return FeatureMechanism(
        "truncated Laplace", Claim(epsilon), PublicRange.of(range), dims, sampled, (channel,), dims / sampled
    )
