"""Per-feature budgets θ_i·ε with shares θ that do not sum to one: the most important feature gets the whole, others too."""

import numpy as np

from graphveil.channels import Claim, featurerr
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "in shares that sum to one"


def build(epsilon, dims, range):
    shares = 1 / np.arange(1, dims + 1)
    channels = tuple(featurerr(epsilon * share, 4) for share in shares.tolist())
    return FeatureMechanism(
        "unnormalised shares", Claim(epsilon), PublicRange.of(range), dims, dims, channels, 1.0
    )
