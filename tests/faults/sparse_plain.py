"""Sparse rows take a path of their own, in which the noise was forgotten."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are answered differently"


class SparsePlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not (hasattr(private, "tocsr")):
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return SparsePlain(
        "sparse plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
