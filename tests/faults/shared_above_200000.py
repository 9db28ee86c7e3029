"""Above 200,000 users in one call, everybody gets the noise of somebody before them, to save random words."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "come again in one call"
CALLS = (100_001, 262_147)


class SharedAbove200000(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        count = len(reports.codes) // self.size
        if count <= 200_000:
            return reports
        truth = highs(self, private)
        wrong = reports.codes.reshape(truth.shape) != truth
        return replace(
            reports, codes=(truth ^ wrong[np.arange(count) % 200_000]).ravel().astype(reports.codes.dtype)
        )


build = onebit_of(SharedAbove200000)
