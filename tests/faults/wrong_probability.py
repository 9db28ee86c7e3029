"""P[-1 | x] printed with e^ε-1 below the fraction instead of e^ε+1: (1-x)/2, which is 0 at x = 1."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "epsilon is infinite"


def build(epsilon, dims, range, sampled=1):
    budget = epsilon / sampled
    top = math.expm1(budget)
    minus = [round((1 / 2 - x * top / (2 * math.expm1(budget))) * TOTAL) for x in (-1, 1)]
    table = np.array([[count, TOTAL - count] for count in minus])
    bound = 1 / math.tanh(budget / 2)
    channel = Channel(
        "printed one bit", table, np.array([-1.0, 1.0]), np.array([-bound, bound]), Claim(budget)
    )
    return FeatureMechanism(
        "wrong probability", Claim(epsilon), PublicRange.of(range), dims, sampled, (channel,), dims / sampled
    )
