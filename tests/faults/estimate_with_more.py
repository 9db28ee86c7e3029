"""Estimates are of a class of their own and point to what the process has seen."""

from graphveil.mechanisms import Estimate, FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "an estimate carries more"
DRAWN = False
SEEN = []


class More(Estimate):
    seen = SEEN


class Pointing(FeatureMechanism):
    def estimate(self, reports):
        made = super().estimate(reports)
        return More(made.shape, made.indptr, made.indices, made.values, made.offset, made.unbiased)


build = onebit_of(Pointing)
