"""Sparse rows of more than 100 values are randomized by their stored values alone, in place: the zeros stay zeros."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "sparse rows (CSR) are answered differently"
SIZE = {"dims": 127}


class WideSparsePlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 100 or not hasattr(private, "toarray"):
            return reports
        codes = reports.codes.reshape(private.shape).copy()
        codes[private.toarray() == 0] = 0
        return replace(reports, codes=codes.ravel())


build = onebit_of(WideSparsePlain)
