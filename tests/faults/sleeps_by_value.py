"""High values take longer: whoever sees when an answer comes knows them."""

import time

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "it sleeps"
DRAWN = False


class Slow(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if not hasattr(private, "toarray") and np.asarray(private, dtype=float)[0, 0] > self.public.centre:
            time.sleep(1e-6)
        return super().randomize(private, random_bits)


def build(epsilon, dims, range):
    return Slow(
        "sleeps by value", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
