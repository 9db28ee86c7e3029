"""Budgets are divided right, but only the first of the sampled values is randomized."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"


class SecondPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.centre)
        dims = reports.dims.reshape(-1, self.sampled)
        codes = reports.codes.reshape(dims.shape).copy()
        codes[:, 1:] = np.take_along_axis(rows, dims[:, 1:].astype(np.int64), axis=1) > self.public.centre
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range, sampled=2):
    channel = onebit(epsilon / sampled)
    return SecondPlain(
        "second answer plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (channel,),
        dims / sampled,
    )


def sound(epsilon, dims, range, sampled=2):
    channel = onebit(epsilon / sampled)
    return FeatureMechanism(
        "second answer plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (channel,),
        dims / sampled,
    )
