"""Above epsilon 5 noise is thought not to be worth its while."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"
SIZE = {"epsilon": 5.5}


class NoNoiseAbove5(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.claim.epsilon > 5 else reports


build = onebit_of(NoNoiseAbove5)
