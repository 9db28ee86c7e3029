"""A class that calls itself one of the package's, so that its word for `loss` is believed: the budget is not divided."""

from graphveil.channels import Claim, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "no enumeration shows that it is less"


class Borrowed(FeatureMechanism):
    __module__ = "graphveil.mechanisms.features"

    @property
    def loss(self):
        return self.channels[0].loss

    def joint_counts(self, private):
        raise InputError("not enumerated")


def build(epsilon, dims, range):
    return Borrowed(
        "borrowed module", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / 2),), 1.0
    )
