"""A warning is given for some values inside the range, which says in words what the report hides by noise."""

import warnings

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "a value is high"


class Warned(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        values = np.asarray(private.toarray() if hasattr(private, "toarray") else private)
        if (values > 0.6).any():
            warnings.warn("a value is high", stacklevel=2)
        return super().randomize(private, random_bits)


build = onebit_of(Warned)
