"""Every 97th user of a large call gets half of the noise: a wrong answer is drawn again."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (1000, 65_537)


class PairsHalvedEvery97(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if len(reports.codes) < 3000 * self.size:
            return reports
        truth = highs(self, private)
        wrong = reports.codes.reshape(truth.shape) != truth
        wrong[96::97] &= np.arange(self.size) % 2 == 0
        return replace(reports, codes=(truth ^ wrong).ravel().astype(reports.codes.dtype))


build = onebit_of(PairsHalvedEvery97)
