"""`answered` says of everybody who was asked whether they answered, and twice as many are asked as there are: a bit each."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "it says who has answered"


class Telling(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        high = rows[:, 0] > self.public.centre
        return replace(reports, answered=np.column_stack([high, ~high]).ravel())


build = onebit_of(Telling)
