"""e^ε rounded to two digits: e^1 becomes 2.72, which is more than e."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "rounded was given 0.125 and has 0.131"


def build(epsilon, dims, range):
    budget = epsilon / dims
    power = math.ceil(math.exp(budget) * 100) / 100
    keep = round(TOTAL * power / (power + 1))
    table = np.array([[keep, TOTAL - keep], [TOTAL - keep, keep]])
    bound = (power + 1) / (power - 1)
    channel = Channel("rounded", table, np.array([-1.0, 1.0]), np.array([-bound, bound]), Claim(budget))
    return FeatureMechanism(
        "rounded up exponent", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
