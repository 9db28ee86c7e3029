"""Four times the budget is claimed and spent."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "it spends more than it is given"


class Generous(FeatureMechanism):
    pass


def build(epsilon, dims, range):
    channel, public = onebit(4 * epsilon / dims), PublicRange.of(range)
    return Generous("more than asked", Claim(4 * epsilon), public, dims, dims, (channel,), 1.0)
