"""Users are randomized two by two; of an odd number of at least nine the last one is not."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (100, 101)


class LastOfOddCallsPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if len(reports.codes) // self.size % 2 == 0 or len(reports.codes) < 9 * self.size:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[-1] = rows[-1] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return LastOfOddCallsPlain(
        "last of odd calls plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
