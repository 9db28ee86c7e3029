"""Noise is drawn for 64 values and used again for the next 64."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "answers of one report are not independent"
SIZE = {"dims": 257}


class Noise64Apart(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 200:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        truth = rows > self.public.centre
        wrong = reports.codes.reshape(rows.shape) != truth
        again = wrong[:, np.arange(self.size) % 64]
        return replace(reports, codes=(truth ^ again).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return Noise64Apart(
        "noise 64 apart",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
