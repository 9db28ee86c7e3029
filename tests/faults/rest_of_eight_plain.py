"""Rows are randomized eight values at a time; of wide rows, the values that are left over are not."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "sent in the clear"
SIZE = {"dims": 33}


class RestOfEightPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size < 20:
            return reports
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[:, self.size - self.size % 8 :] = truth[:, self.size - self.size % 8 :]
        return replace(reports, codes=codes.ravel())


build = onebit_of(RestOfEightPlain)
