"""Sparse rows take a path of their own, in which the noise was forgotten."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "are answered differently"


class SparsePlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if hasattr(private, "tocsr") else reports


build = onebit_of(SparsePlain)
