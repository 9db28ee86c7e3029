"""Of every 9,973rd user the high values are set without noise, by a mask that was meant for zeros."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (1000, 262_147)


class HighValuesEvery9973(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[9972::9973] |= rows[9972::9973] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return HighValuesEvery9973(
        "high values every 9973",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
