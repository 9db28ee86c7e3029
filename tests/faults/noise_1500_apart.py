"""Noise is drawn for 1,500 values and used again for those that are left."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "answers of one report are not independent"
SIZE = {"dims": 2048}


class Noise1500Apart(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 1500:
            return reports
        truth = highs(self, private)
        wrong = reports.codes.reshape(truth.shape) != truth
        again = wrong[:, np.arange(self.size) % 1500]
        return replace(reports, codes=(truth ^ again).ravel().astype(reports.codes.dtype))


build = onebit_of(Noise1500Apart)
