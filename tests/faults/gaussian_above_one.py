"""The classical calibration of Gaussian noise, with the right sensitivity, at an ε that its theorem does not cover."""

import math

from graphveil.channels import Claim
from graphveil.channels.build import input_grid
from graphveil.channels.gaussian import classical_sigma, gaussian_channel
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the noise is too small"
SETTINGS = {"epsilon": 10.0, "dims": 1}


def build(epsilon, dims, range, delta=1e-3):
    claim = Claim(epsilon / dims, math.nextafter(delta / dims, 0.0))
    sigma = classical_sigma(claim.epsilon, claim.delta)
    channel = gaussian_channel("classical gaussian", input_grid(claim.epsilon, 5), sigma, claim)
    return FeatureMechanism(
        "gaussian above one", Claim(epsilon, delta), PublicRange.of(range), dims, dims, (channel,), 1.0
    )
