"""Rows of small integers are taken for codes that were randomized before."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are answered differently"


class IntegersPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if getattr(private, "dtype", None) != np.int16:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return IntegersPlain(
        "integers plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
