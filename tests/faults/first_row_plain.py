"""An index that starts at 1: the first row of every call is encoded and not randomized.

Among many users nobody notices, but a client reports one row at a time: its own, in the clear.
"""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "in calls for one user"


class OffByOne(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        codes = reports.codes.copy()
        codes[: self.size] = np.asarray(private)[:1].ravel() > self.public.centre
        return replace(reports, codes=codes)


build = onebit_of(OffByOne)
