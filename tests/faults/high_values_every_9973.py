"""Of every 9,973rd user the high values are set without noise, by a mask that was meant for zeros."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (1000, 262_147)


class HighValuesEvery9973(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[9972::9973] |= truth[9972::9973]
        return replace(reports, codes=codes.ravel())


build = onebit_of(HighValuesEvery9973)
