"""A seed in the client's code "for reproducible results": two calls on the same row give the same report."""

from graphveil.channels import SeededBits
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import some_values_of

CAUSE = "the same users in two calls"


class FixedSeed(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        return super().randomize(private, SeededBits(42))


build = some_values_of(FixedSeed)
