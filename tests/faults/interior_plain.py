"""Only values at the ends of the range are randomized, because tests used those alone: all others are sent by their sign."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"


class InteriorPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.centre)
        rows = np.clip(rows, self.public.low, self.public.high).ravel()
        inside = (rows > self.public.low) & (rows < self.public.high)
        codes = np.where(inside, rows > self.public.centre, reports.codes)
        return replace(reports, codes=codes.astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return InteriorPlain(
        "interior plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )


def sound(epsilon, dims, range):
    return FeatureMechanism(
        "interior plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
