"""Rows of single precision are taken for ready reports and passed through."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "are answered differently"


class SinglePlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if getattr(private, "dtype", None) == np.float32 else reports


build = onebit_of(SinglePlain)
