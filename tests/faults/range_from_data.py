"""Values are scaled by the smallest and the largest value of all users, so that everybody's report depends on everybody."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import some_values_of

CAUSE = "depends on other users' data"


class Rescaling(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        rows = np.clip(np.asarray(private, dtype=float), self.public.low, self.public.high)
        low, high = rows.min(), rows.max()
        scaled = (rows - low) / max(high - low, 1e-12)
        return super().randomize(self.public.low + scaled * (self.public.high - self.public.low), random_bits)


build = some_values_of(Rescaling)
