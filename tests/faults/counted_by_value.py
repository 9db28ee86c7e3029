"""Users are counted, and refused, by what they hold: a row with a high first value is not answered at all."""

import numpy as np

from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "count fails on"


class Counted(FeatureMechanism):
    def count(self, private):
        if (np.asarray(private)[:, 0] > self.public.centre).any():
            raise InputError("the first value is high")
        return super().count(private)


build = onebit_of(Counted)
