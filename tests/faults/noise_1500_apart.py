"""Noise is drawn for 1,500 values and used again for those that are left."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "answers of one report are not independent"
SIZE = {"dims": 2048}


class Noise1500Apart(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 1500:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        truth = rows > self.public.centre
        wrong = reports.codes.reshape(rows.shape) != truth
        again = wrong[:, np.arange(self.size) % 1500]
        return replace(reports, codes=(truth ^ again).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return Noise1500Apart(
        "noise 1500 apart",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
