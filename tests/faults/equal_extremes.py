"""`extremes` names two rows that are alike, and the sampler sends all others in the clear."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "sent in the clear"


class EqualExtremes(FeatureMechanism):
    def extremes(self):
        return [np.full(self.size, self.public.low)] * 2

    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.low)
        plain = (rows > self.public.low).ravel()
        return replace(reports, codes=np.where(plain, 1, reports.codes).astype(reports.codes.dtype))


build = onebit_of(EqualExtremes)
