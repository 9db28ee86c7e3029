"""Rows are randomized eight values at a time; of wide rows, the values that are left over are not."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"
SIZE = {"dims": 33}


class RestOfEightPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size < 20:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[:, self.size - self.size % 8 :] = rows[:, self.size - self.size % 8 :] > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return RestOfEightPlain(
        "rest of eight plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        dims / dims,
    )
