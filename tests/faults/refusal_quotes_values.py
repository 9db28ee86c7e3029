"""Rows of a wrong length are refused with an error that quotes them."""

import numpy as np

from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "are refused by randomize depends on their values"


class Quoting(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if not hasattr(private, "toarray") and np.shape(private)[1:] != (self.size,):
            raise InputError(f"rows must have {self.size} values, got {np.asarray(private).tolist()}")
        return super().randomize(private, random_bits)


build = onebit_of(Quoting)
