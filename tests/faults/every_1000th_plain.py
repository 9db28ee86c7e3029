"""A log line for every thousandth user puts the row where its answers should be."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "some users of a large call are drawn differently"


class EveryThousandth(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[999::1000] = rows[999::1000] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return EveryThousandth(
        "every 1000th plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
