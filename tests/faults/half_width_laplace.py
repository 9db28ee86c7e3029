"""Laplace noise of scale 1/ε on [-1, 1], whose width is 2 and not 1."""

from dataclasses import replace

from graphveil.channels import Claim, laplace
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "laplace was given 0.125 and has 0.2499"


def build(epsilon, dims, range):
    # Noise of scale 1/ε is what a budget of 2ε gets.
    channel = replace(laplace(2 * epsilon / dims), claim=Claim(epsilon / dims))
    return FeatureMechanism(
        "half width Laplace", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
