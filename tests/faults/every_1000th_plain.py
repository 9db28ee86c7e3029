"""A log line for every thousandth user puts the row where its answers should be."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "some users of a large call are drawn differently"


class EveryThousandth(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[999::1000] = truth[999::1000]
        return replace(reports, codes=codes.ravel())


build = onebit_of(EveryThousandth)
