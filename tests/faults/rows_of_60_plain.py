"""A path for rows of 60 values and more, written for speed, leaves the noise out."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"
SIZE = {"dims": 60}


class RowsOf60Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.size >= 60 else reports


build = onebit_of(RowsOf60Plain)
