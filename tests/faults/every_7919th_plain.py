"""A sample of users, one of 7,919, is kept as it is, to compare with later."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (1000, 32_769)


class Every7919thPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[77::7919] = rows[77::7919] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return Every7919thPlain(
        "every 7919th plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
