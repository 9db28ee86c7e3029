"""An array of 500,000 rows is randomized; users beyond it are copied."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (100_001, 500_001)


class Above500000Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[500_000:] = rows[500_000:] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return Above500000Plain(
        "above 500000 plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
