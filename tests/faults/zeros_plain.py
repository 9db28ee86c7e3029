"""Zeros inside a range from -1 to 1 are common, and are answered with the middle code without noise."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, three_output
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"


class ZerosPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        zero = (np.asarray(private, dtype=float) == self.public.centre).ravel()
        return replace(reports, codes=np.where(zero, 1, reports.codes).astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return ZerosPlain(
        "zeros plain", Claim(epsilon), PublicRange.of(range), dims, dims, (three_output(epsilon / dims),), 1.0
    )


def sound(epsilon, dims, range):
    return FeatureMechanism(
        "zeros plain", Claim(epsilon), PublicRange.of(range), dims, dims, (three_output(epsilon / dims),), 1.0
    )
