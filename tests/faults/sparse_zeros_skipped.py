"""Of sparse rows only the stored entries are randomized: a zero is sent as it is."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "are answered differently"


class ZerosSkipped(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not hasattr(private, "tocsr"):
            return reports
        stored = private.toarray().ravel() != 0
        return replace(reports, codes=np.where(stored, reports.codes, 0).astype(reports.codes.dtype))


build = onebit_of(ZerosSkipped)
