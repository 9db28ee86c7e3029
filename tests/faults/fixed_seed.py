"""A seed in the client's code "for reproducible results": two calls on the same row give the same report."""

from graphveil.channels import Claim, SeededBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the same users in two calls"


class FixedSeed(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        return super().randomize(private, SeededBits(42))


def build(epsilon, dims, range, sampled=1):
    return FixedSeed(
        "fixed seed",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon / sampled),),
        dims / sampled,
    )
