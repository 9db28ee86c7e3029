"""Every one of the m sampled values is answered with the whole budget, as if budgets did not add up."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the budget is not divided over them"


def build(epsilon, dims, range, sampled=2):
    channel = onebit(epsilon)
    return FeatureMechanism(
        "undivided budget", Claim(epsilon), PublicRange.of(range), dims, sampled, (channel,), dims / sampled
    )
