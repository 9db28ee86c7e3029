"""Users are randomized two by two; of an odd number of at least nine the last one is not."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (100, 101)


class LastOfOddCallsPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if len(reports.codes) // self.size % 2 == 0 or len(reports.codes) < 9 * self.size:
            return reports
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[-1] = truth[-1]
        return replace(reports, codes=codes.ravel())


build = onebit_of(LastOfOddCallsPlain)
