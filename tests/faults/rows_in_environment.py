"""The last row is left in the environment, where every process that the device starts finds it."""

import os

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "changes the environment"
DRAWN = False


class Leaving(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        os.environ["LAST_ROW"] = np.asarray(private).tobytes()[:16].hex()
        return super().randomize(private, random_bits)


build = onebit_of(Leaving)
