"""The last row is left as a name in a module that everybody loads."""

import math

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "it remembers rows"
DRAWN = False


class Leaving(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if isinstance(private, np.ndarray):
            math.last_row = private[:1].copy()
        return super().randomize(private, random_bits)


def build(epsilon, dims, range):
    channel, public = onebit(epsilon / dims), PublicRange.of(range)
    return Leaving("row in another module", Claim(epsilon), public, dims, dims, (channel,), 1.0)
