"""The mechanism is the package's, the range is not: it keeps the values that it is asked to scale."""

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "it remembers rows"
DRAWN = False
SEEN = []


class Keeping(PublicRange):
    def to_unit(self, values):
        SEEN[:] = [float(np.nan_to_num(values).sum())]
        return super().to_unit(values)


def build(epsilon, dims, range):
    public = PublicRange.of(range)
    return FeatureMechanism(
        "range keeps",
        Claim(epsilon),
        Keeping(public.low, public.high),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
