"""The control keeps the channel: it claims to carry nothing, and carries everything."""

from dataclasses import replace

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "its control is not blind"


class Sighted(FeatureMechanism):
    def blind(self):
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0))


def build(epsilon, dims, range):
    return Sighted(
        "control keeps channel",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )


def sound(epsilon, dims, range):
    return FeatureMechanism(
        "control", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
