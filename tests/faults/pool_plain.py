"""Values of the pool are asked of everybody, and were taken for public."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange
from graphveil.mechanisms.features import Asking

CAUSE = "with a pool of values"


class PoolPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.favoured is None or not self.favoured.pool:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        owners = np.repeat(np.arange(reports.users), reports.lengths)
        truth = rows[owners, reports.dims] > self.public.centre
        inside = np.isin(reports.dims, self.favoured.pool)
        return replace(reports, codes=np.where(inside, truth, reports.codes).astype(reports.codes.dtype))


def build(epsilon, dims, range, sampled=2, pool=None, from_pool=None, kind=PoolPlain):
    asking = None if pool is None else Asking.of(dims, sampled, pool, from_pool)
    return kind(
        "pool plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon / sampled),),
        dims / sampled,
        favoured=asking,
    )


def sound(epsilon, dims, range, sampled=2, pool=None, from_pool=None):
    return build(epsilon, dims, range, sampled, pool, from_pool, FeatureMechanism)
