"""A print that was left in: high values show on the terminal and in the logs of the device."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "what it prints or logs depends on the values"
DRAWN = False


class Printing(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if (
            not hasattr(private, "toarray")
            and np.nan_to_num(np.asarray(private, dtype=float)).max() > self.public.centre
        ):
            print("high values")
        return super().randomize(private, random_bits)


build = onebit_of(Printing)
