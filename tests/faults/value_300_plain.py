"""The value with the number 300, which was added last, has no noise."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "sent in the clear"
SIZE = {"dims": 1024}


class Value300Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[:, 300:301] = truth[:, 300:301]
        return replace(reports, codes=codes.ravel())


build = onebit_of(Value300Plain)
