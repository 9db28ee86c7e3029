"""`compares` says that no two inputs are to be compared, so nothing is ever above the claim."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the exact epsilon of a report is"


class NothingCompared(FeatureMechanism):
    def compares(self, one, other):
        return False

    @property
    def holds(self):
        return True


def build(epsilon, dims, range):
    channel = onebit(epsilon)
    return NothingCompared(
        "blind comparison", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
