"""The control shows a blind table and answers by the sighted one, which its module remembers."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "its control is not blind"
SIGHTED = {}


class Remembering(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        return FeatureMechanism.randomize(SIGHTED.get(self.size, self), private, random_bits)


def build(epsilon, dims, range):
    built = Remembering(
        "control answers as before",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
    SIGHTED[dims] = built
    return built
