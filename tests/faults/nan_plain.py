"""What is no number gets the first code, always: a missing value is seen at once."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "sent in the clear: under rows of nan"


class NanPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        missing = np.isnan(np.asarray(private, dtype=float)).ravel()
        return replace(reports, codes=np.where(missing, 0, reports.codes).astype(reports.codes.dtype))


build = onebit_of(NanPlain)
