"""A sample of users, one of 7,919, is kept as it is, to compare with later."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (1000, 32_769)


class Every7919thPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[77::7919] = truth[77::7919]
        return replace(reports, codes=codes.ravel())


build = onebit_of(Every7919thPlain)
