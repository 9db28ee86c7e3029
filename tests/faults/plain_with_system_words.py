"""Noise is what a simulation draws; words of the operating system, which devices use, are taken for a test."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "with the system's words"


class Simulated(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not isinstance(random_bits, SystemBits):
            return reports
        return replace(
            reports, codes=(np.asarray(private, dtype=float).ravel() > self.public.centre).astype(np.uint8)
        )


def build(epsilon, dims, range):
    return Simulated(
        "plain with system words",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
