"""Gaussian noise sold as pure ε: its δ is spent and not claimed."""

from graphveil.channels import Claim, analytic_gaussian
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "delta is not claimed"


def build(epsilon, dims, range):
    channel = analytic_gaussian(epsilon / dims, 1e-5, 5)
    return FeatureMechanism(
        "forgotten delta", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
