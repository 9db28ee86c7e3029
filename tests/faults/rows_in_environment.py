"""The last row is left in the environment, where every process that the device starts finds it."""

import os

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "changes the environment"
DRAWN = False


class Leaving(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        os.environ["LAST_ROW"] = np.asarray(private).tobytes()[:16].hex()
        return super().randomize(private, random_bits)


def build(epsilon, dims, range):
    return Leaving(
        "rows in environment",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
