"""Values are scaled by the smallest and the largest value of all users, so that everybody's report depends on everybody."""

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "depends on other users' data"


class Rescaling(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        rows = np.clip(np.asarray(private, dtype=float), self.public.low, self.public.high)
        low, high = rows.min(), rows.max()
        scaled = (rows - low) / max(high - low, 1e-12)
        return super().randomize(self.public.low + scaled * (self.public.high - self.public.low), random_bits)


def build(epsilon, dims, range, sampled=1):
    return Rescaling(
        "range from data",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon / sampled),),
        dims / sampled,
    )
