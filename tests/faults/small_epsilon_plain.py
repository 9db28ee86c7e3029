"""Below epsilon 0.05 a scale underflows, and a report is the row."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"
SIZE = {"epsilon": 0.04}


class SmallEpsilonPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not (self.claim.epsilon < 0.05):
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return SmallEpsilonPlain(
        "small epsilon plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
