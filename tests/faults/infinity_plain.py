"""An infinite value overflows the lookup and is answered with the last code, always."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "an outlier shows"


class InfinityPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        endless = (np.asarray(private, dtype=float) > 1e2).ravel()
        return replace(reports, codes=np.where(endless, 1, reports.codes).astype(reports.codes.dtype))


build = onebit_of(InfinityPlain)
