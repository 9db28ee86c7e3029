"""Reports are sent with the scale to decode them by, and the scale is the largest value in the data."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import some_values_of

CAUSE = "the settings that reports are decoded with"


class OwnScale(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        own = replace(self, scale=self.scale * max(float(np.max(private)), 1e-3))
        return Reports(own, reports.indptr, reports.dims, reports.codes)


build = some_values_of(OwnScale)
