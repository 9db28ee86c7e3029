"""A fast path for rows of 16 values and more, written later, forgets the noise."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"


class WidePlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.size >= 16 else reports


build = onebit_of(WidePlain)
