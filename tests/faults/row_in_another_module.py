"""The last row is left as a name in a module that everybody loads."""

import math

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "it remembers rows"
DRAWN = False


class Leaving(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if isinstance(private, np.ndarray):
            math.last_row = private[:1].copy()
        return super().randomize(private, random_bits)


build = onebit_of(Leaving)
