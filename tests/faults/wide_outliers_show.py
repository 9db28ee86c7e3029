"""Rows of more than 500 values are clipped after the noise: an outlier is sent with certainty."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "an outlier shows"
SIZE = {"dims": 1000}


class WideOutliersShow(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 500:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[rows > self.public.high] = 1
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return WideOutliersShow(
        "wide outliers show",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
