"""Every 10,000th user is passed over when progress is logged."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (1000, 65_537)


class Every10000thPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[9999::10_000] = truth[9999::10_000]
        return replace(reports, codes=codes.ravel())


build = onebit_of(Every10000thPlain)
