"""Above epsilon 8 noise is left out of rows of several values."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"
SIZE = {"epsilon": 8.5}


class NoNoiseAbove8(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.claim.epsilon > 8 and self.size > 1 else reports


build = onebit_of(NoNoiseAbove8)
