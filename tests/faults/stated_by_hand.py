"""The privacy loss is written down by hand, and is that of one answer although two are sent."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the stated loss is wrong"


class Stated(FeatureMechanism):
    @property
    def loss(self):
        return self.channels[0].loss


def build(epsilon, dims, range, sampled=2):
    return Stated(
        "stated by hand",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon),),
        dims / sampled,
    )
