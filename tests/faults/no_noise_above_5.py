"""Above epsilon 5 noise is thought not to be worth its while."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"
SIZE = {"epsilon": 5.5}


class NoNoiseAbove5(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not (self.claim.epsilon > 5):
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return NoNoiseAbove5(
        "no noise above 5",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
