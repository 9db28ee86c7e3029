"""Estimates are of a class of their own and point to what the process has seen."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import Estimate, FeatureMechanism, PublicRange

CAUSE = "an estimate carries more"
DRAWN = False
SEEN = []


class More(Estimate):
    seen = SEEN


class Pointing(FeatureMechanism):
    def estimate(self, reports):
        made = super().estimate(reports)
        return More(made.shape, made.indptr, made.indices, made.values, made.offset, made.unbiased)


def build(epsilon, dims, range):
    return Pointing(
        "estimate with more",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
