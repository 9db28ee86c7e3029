"""The value with the number 300, which was added last, has no noise."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"
SIZE = {"dims": 1024}


class Value300Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[:, 300:301] = rows[:, 300:301] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return Value300Plain(
        "value 300 plain", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
