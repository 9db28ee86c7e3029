"""Above 200,000 users in one call, everybody gets the noise of somebody before them, to save random words."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "come again in one call"
CALLS = (100_001, 262_147)


class SharedAbove200000(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        count = len(reports.codes) // self.size
        if count <= 200_000:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        truth = rows > self.public.centre
        wrong = reports.codes.reshape(rows.shape) != truth
        return replace(
            reports, codes=(truth ^ wrong[np.arange(count) % 200_000]).ravel().astype(reports.codes.dtype)
        )


def build(epsilon, dims, range):
    return SharedAbove200000(
        "shared above 200000",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
