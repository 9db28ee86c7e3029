"""Rows of exactly 1,000 values, those of one customer, are passed on as they are."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"
SIZE = {"dims": 1000}


class Dims1000Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size != 1000:
            return reports
        return plain(reports, private)


build = onebit_of(Dims1000Plain)
