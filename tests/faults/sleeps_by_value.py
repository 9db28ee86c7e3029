"""High values take longer: whoever sees when an answer comes knows them."""

import time

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "it sleeps"
DRAWN = False


class Slow(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if not hasattr(private, "toarray") and np.asarray(private, dtype=float)[0, 0] > self.public.centre:
            time.sleep(1e-6)
        return super().randomize(private, random_bits)


build = onebit_of(Slow)
