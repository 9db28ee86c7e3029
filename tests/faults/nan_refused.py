"""A row that holds no number is refused: whether somebody answers tells that a value is missing."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "whether somebody answers then tells a value"


class NanRefused(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        if not np.isfinite(np.asarray(private, dtype=float)).all():
            raise ValueError("rows must be finite")
        return super().randomize(private, random_bits)


build = onebit_of(NanRefused)
