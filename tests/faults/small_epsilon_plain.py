"""Below epsilon 0.05 a scale underflows, and a report is the row."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"
SIZE = {"epsilon": 0.04}


class SmallEpsilonPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.claim.epsilon < 0.05 else reports


build = onebit_of(SmallEpsilonPlain)
