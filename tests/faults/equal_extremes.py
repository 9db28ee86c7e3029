"""`extremes` names two rows that are alike, and the sampler sends all others in the clear."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"


class EqualExtremes(FeatureMechanism):
    def extremes(self):
        return [np.full(self.size, self.public.low)] * 2

    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.low)
        plain = (rows > self.public.low).ravel()
        return replace(reports, codes=np.where(plain, 1, reports.codes).astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return EqualExtremes(
        "equal extremes", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
