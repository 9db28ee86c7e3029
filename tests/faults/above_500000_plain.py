"""An array of 500,000 rows is randomized; users beyond it are copied."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (100_001, 500_001)


class Above500000Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[500_000:] = truth[500_000:]
        return replace(reports, codes=codes.ravel())


build = onebit_of(Above500000Plain)
