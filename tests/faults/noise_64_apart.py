"""Noise is drawn for 64 values and used again for the next 64."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "answers of one report are not independent"
SIZE = {"dims": 257}


class Noise64Apart(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 200:
            return reports
        truth = highs(self, private)
        wrong = reports.codes.reshape(truth.shape) != truth
        again = wrong[:, np.arange(self.size) % 64]
        return replace(reports, codes=(truth ^ again).ravel().astype(reports.codes.dtype))


build = onebit_of(Noise64Apart)
