"""The first call of a process warms a cache up, and sends what it is warmed up with."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "reports depend on what was called or loaded before"
DRAWN = False
WARM = []


class Warming(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if WARM or hasattr(private, "toarray"):
            return reports
        WARM.append(True)
        truth = np.asarray(private, dtype=float).ravel() > self.public.centre
        return replace(reports, codes=truth.astype(np.uint8))


def build(epsilon, dims, range):
    return Warming(
        "first call of process",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
