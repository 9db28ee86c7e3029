"""Every 10,000th user is passed over when progress is logged."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (1000, 65_537)


class Every10000thPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[9999::10_000] = rows[9999::10_000] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return Every10000thPlain(
        "every 10000th plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
