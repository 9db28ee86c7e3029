"""σ² = 2 ln(1.25/δ)/ε², as printed: it forgets that the range [-1, 1] has width 2."""

import math

from graphveil.channels import Claim
from graphveil.channels.build import input_grid
from graphveil.channels.gaussian import gaussian_channel
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the noise is too small"


def build(epsilon, dims, range, delta=1e-5):
    claim = Claim(epsilon / dims, math.nextafter(delta / dims, 0.0))
    sigma = math.sqrt(2 * math.log(1.25 / claim.delta)) / claim.epsilon
    channel = gaussian_channel("printed gaussian", input_grid(claim.epsilon, 5), sigma, claim)
    return FeatureMechanism(
        "gaussian sensitivity", Claim(epsilon, delta), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
