"""A warning says how many rows were clipped: a log file tells who is an outlier."""

import warnings

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "a warning (UserWarning) tells of"


class Warned(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if (np.abs(np.asarray(private, dtype=float)) > 1e6).any():
            warnings.warn("clipped", UserWarning, stacklevel=2)
        return super().randomize(private, random_bits)


build = onebit_of(Warned)
