"""Every 97th user of a large call gets half of the noise: a wrong answer is drawn again."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (1000, 65_537)


class PairsHalvedEvery97(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if len(reports.codes) < 3000 * self.size:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        truth = rows > self.public.centre
        wrong = reports.codes.reshape(rows.shape) != truth
        wrong[96::97] &= np.arange(self.size) % 2 == 0
        return replace(reports, codes=(truth ^ wrong).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return PairsHalvedEvery97(
        "pairs halved every 97",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
