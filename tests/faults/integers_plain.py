"""Rows of small integers are taken for codes that were randomized before."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "are answered differently"


class IntegersPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if getattr(private, "dtype", None) == np.int16 else reports


build = onebit_of(IntegersPlain)
