"""ε is divided over the values, δ is not: every value is answered with the whole δ, and they add up."""

from graphveil.channels import Claim, analytic_gaussian
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "delta is not divided over the 8 answers"


def build(epsilon, dims, range, delta=1e-5):
    channel = analytic_gaussian(epsilon / dims, delta, 5)
    return FeatureMechanism(
        "reused delta", Claim(epsilon, delta), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
