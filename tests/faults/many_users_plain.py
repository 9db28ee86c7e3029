"""Calls for more than a thousand users are split, and the parts are not randomized."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"


class ManyUsers(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not (np.shape(private)[:1] > (1000,)):
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return ManyUsers(
        "many users plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
